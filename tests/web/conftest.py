"""The page in a real browser, of bridges that serve folders of manifests."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from hack.web import chromium
from tests.web.bridges import SHOP, Bridge
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
    folder = tmp_path_factory.mktemp("shop")
    bridge = Bridge(SHOP, folder / "log")
    bridge.start()
    yield bridge
    bridge.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], Bridge]]:
    """Starts a bridge on a copy of a folder, which the test may change."""
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
