"""The page in a real browser, of bridges that serve folders of manifests."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from hack.web import chromium
from tests.web.bridges import SHOP, THREE_GATEWAYS, Bridge
from tests.web.page import LAUNCH, Opened


@pytest.fixture(scope="session")
def executable() -> Path:
    """Chromium, or the tests are skipped with the command that installs it."""
    path = chromium.find()
    if path is None:
        (pytest.fail if chromium.REQUIRED else pytest.skip)(chromium.HOW)
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(executable: Path) -> AsyncIterator[Browser]:
    """One browser for all tests; each has pages of its own."""
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=executable, args=LAUNCH)
        yield started
        await started.close()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """The example, which no test changes."""
    yield from _served(SHOP, tmp_path_factory)


@pytest.fixture(scope="session")
def three_gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """The example with policies of three vendors, which no test changes."""
    yield from _served(THREE_GATEWAYS, tmp_path_factory)


@pytest.fixture(scope="session")
def _copied_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    yield from _served(shutil.copytree(SHOP, tmp_path_factory.mktemp("copy") / "shop"), tmp_path_factory)


@pytest.fixture
def changing(_copied_shop: Bridge) -> Iterator[Bridge]:
    """A bridge on a copy of the example, to which a test may add files; they are removed after it."""
    before = set(_copied_shop.folder.iterdir())
    yield _copied_shop
    for file in set(_copied_shop.folder.iterdir()) - before:
        file.unlink()


def _served(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    bridge = Bridge(folder, tmp_path_factory.mktemp("served") / "log")
    bridge.start()
    yield bridge
    bridge.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], Bridge]]:
    """Starts a bridge on a copy of a folder, for a test that restarts it or has objects of its own."""
    bridges = []

    def start(source: Path) -> Bridge:
        folder = tmp_path / "manifests"
        shutil.copytree(source, folder)
        bridge = Bridge(folder, tmp_path / "log")
        bridges.append(bridge)
        bridge.start()
        return bridge

    yield start
    for bridge in bridges:
        bridge.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Opened]:
    """An empty page; at its end it must have logged no error."""
    context = await browser.new_context(viewport={"width": 1600, "height": 950}, locale="en-US")
    opened = Opened(await context.new_page())
    yield opened
    await context.close()
    assert opened.errors == []
