"""`python -m tests.web.picture`: take the pictures of the page in docs/images with the examples (`make picture`)."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from hack.web import chromium
from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import LAUNCH, Opened

IMAGES = ROOT / "docs" / "images"
RULE = "gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout"
THREE_GATEWAYS = ROOT / "examples" / "three-gateways"
PICTURES = {  # by the file's name: a folder, the selected object, and an element of its details with a text
    "page.png": (SHOP, RULE, ".fields", "colors.accent"),
    "three-gateways.png": (THREE_GATEWAYS, "kuadrant.io/AuthPolicy/shop/orders", ".differs", "Unknown"),
}


async def take(path: Path, url: str, element: str, text: str, executable: Path) -> None:
    """Open a URL, and take the picture when the element and the outcomes of policies are displayed."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=LAUNCH)
        context = await browser.new_context(
            viewport={"width": 1540, "height": 820}, locale="en-US", color_scheme="light"
        )
        page = Opened(await context.new_page())
        await page.go(url)
        await page.shows(f"#details {element}", text)
        await page.shows("#state", "live")
        await page.page.locator("#outline [role=treeitem].programmed").first.wait_for(state="attached")
        await page.page.screenshot(path=path)
        await browser.close()


def main() -> int:
    """Serve each example and take its picture."""
    executable = chromium.ensure()
    if executable is None:
        sys.stderr.write(f"{chromium.HOW}\n")
        return 1
    for name, (manifests, selected, element, text) in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            bridge = Bridge(manifests, Path(folder) / "log")
            bridge.start()
            try:
                asyncio.run(take(IMAGES / name, f"{bridge.url}#object={selected}", element, text, executable))
            finally:
                bridge.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
