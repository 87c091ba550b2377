"""`python -m hack.web.picture`: take the pictures of the page in docs/images with the examples (`make picture`)."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import async_playwright

from hack.web import chromium
from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import LAUNCH, Opened

IMAGES = ROOT / "docs" / "images"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a folder with one selection; `shows` is an element of the details and its expected text."""

    name: str
    folder: Path
    chosen: str
    shows: tuple[str, str]

    @property
    def path(self) -> Path:
        """Return the path of the picture."""
        return IMAGES / self.name


RULE = "gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout"
THREE_GATEWAYS = ROOT / "examples" / "three-gateways"
PICTURES = (
    Picture("page.png", SHOP, RULE, (".fields", "colors.accent")),
    Picture("three-gateways.png", THREE_GATEWAYS, "kuadrant.io/AuthPolicy/shop/orders", (".differs", "Unknown")),
)


async def take(picture: Picture, url: str, executable: Path) -> None:
    """Select an object, and take the picture when the outcomes of policies are displayed."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=LAUNCH)
        context = await browser.new_context(
            viewport={"width": 1540, "height": 820}, locale="en-US", color_scheme="light"
        )
        page = Opened(await context.new_page())
        element, text = picture.shows
        await page.go(f"{url}#object={picture.chosen}")
        await page.shows(f"#details {element}", text)
        await page.shows("#state", "live")
        await page.page.get_by_role("treeitem", name="active").first.wait_for()
        await page.page.screenshot(path=picture.path)
        await browser.close()


def main() -> int:
    """Serve each example and take its picture."""
    executable = chromium.ensure()
    if executable is None:
        sys.stderr.write(f"{chromium.HOW}\n")
        return 1
    for picture in PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            bridge = Bridge(picture.folder, Path(folder) / "log")
            bridge.start()
            try:
                asyncio.run(take(picture, bridge.url, executable))
            finally:
                bridge.stop()
        sys.stderr.write(f"picture: {picture.path.relative_to(ROOT)}, {picture.path.stat().st_size >> 10} KiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
