"""`python -m hack.web.picture`: docs/images/page.png, the page as it shows examples/shop (`make picture`)."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from hack.web import chromium
from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import LAUNCH, Opened

PICTURE = ROOT / "docs" / "images" / "page.png"
CHOSEN = "gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout"


async def take(url: str, executable: Path) -> None:
    """Choose a rule, and take the picture."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=LAUNCH)
        context = await browser.new_context(
            viewport={"width": 1540, "height": 820}, locale="en-US", color_scheme="light"
        )
        page = Opened(await context.new_page())
        await page.go(f"{url}#object={CHOSEN}")
        await page.shows("#details .fields", "colors.accent")
        await page.shows("#state", "live")
        await page.page.screenshot(path=PICTURE)
        await browser.close()


def main() -> int:
    """Serve the example and take the picture."""
    executable = chromium.ensure()
    if executable is None:
        sys.stderr.write(f"{chromium.HOW}\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        bridge = Bridge(SHOP, Path(folder) / "log")
        bridge.start()
        try:
            asyncio.run(take(bridge.url, executable))
        finally:
            bridge.stop()
    sys.stderr.write(f"picture: {PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size >> 10} KiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
