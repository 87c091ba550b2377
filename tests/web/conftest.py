"""The page in a real browser, of bridges that serve folders of manifests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.web import chromium
from tests.web.page import Opened

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"
PATIENCE = 90.0  # seconds: other tests may keep the machine busy

Open = Callable[..., AsyncIterator[Opened]]


class Bridge:
    """A `bridge run` on a folder; `stop` and `start` make it anew at the same address."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self.log = log
        self.address = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.address}/"

    def start(self) -> None:
        """Start it and wait until it says that everything is filled."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
        environment |= {name: os.environ[name] for name in ("BRIDGE_OPA", "BRIDGE_CACHE") if name in os.environ}
        began = self.log.stat().st_size if self.log.exists() else 0
        bridge = Path(sys.executable).parent / "bridge"
        command = [str(bridge), "run", "--manifests", str(self.folder), "--listen", self.address]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        until = time.monotonic() + PATIENCE
        while "OPA is filled" not in (said := self.log.read_text()[began:]):
            if self._process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"bridge run has not started: {said}", pytrace=False)
            time.sleep(0.1)
        found = re.search(r"bridge=http://(\S+)", said)
        assert found, said
        self.address = found[1]

    def stop(self) -> None:
        """Stop it, as a person does."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=PATIENCE)


@pytest.fixture(scope="session")
def executable() -> Path:
    """Chromium, or the tests are skipped with the line that says how to get it."""
    path = chromium.find()
    if path is None:
        (pytest.fail if chromium.REQUIRED else pytest.skip)(chromium.HOW)
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(executable: Path) -> AsyncIterator[Browser]:
    """One browser for all tests; each has pages of its own."""
    async with async_playwright() as playwright:
        # A container has neither the kernel's namespaces for a sandbox as root, nor a large /dev/shm.
        started = await playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
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
    """A page that is not yet anywhere; at its end nothing may have gone wrong in it."""
    context = await browser.new_context(viewport={"width": 1600, "height": 950}, locale="en-US")
    opened = Opened(await context.new_page())
    yield opened
    await context.close()
    assert opened.errors == []
