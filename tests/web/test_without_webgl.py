"""The page in a browser without WebGL: it draws with the 2D canvas alone."""

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from tests.web.bridges import Bridge
from tests.web.page import LAUNCH, Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
RECORD = """(() => {
  globalThis.contexts = new Set();
  for (const type of [HTMLCanvasElement, OffscreenCanvas]) {
    const usual = type.prototype.getContext;
    type.prototype.getContext = function (name, ...more) {
      contexts.add(name);
      return usual.call(this, name, ...more);
    };
  }
})()"""
PAINTED = """(() => {
  const canvas = document.getElementById('paint');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((one, at) => at % 4 === 3 && one > 200).length;
})()"""


async def test_picture_is_drawn_without_webgl(shop: Bridge, executable: Path) -> None:
    async with async_playwright() as playwright:
        arguments = [*LAUNCH, "--disable-gpu", "--disable-3d-apis"]
        browser = await playwright.chromium.launch(executable_path=executable, args=arguments)
        page = Opened(await browser.new_page(viewport={"width": 1280, "height": 720}))
        await page.page.add_init_script(RECORD)
        await page.go(shop.url)
        await page.until(f"{PAINTED} > 100")
        await page.click_node(CHECKOUT)
        await page.shows("#details h3", "cart#checkout")
        assert await page.page.evaluate("[...contexts]") == ["2d"]
        webgl = "document.createElement('canvas').getContext('webgl')"
        assert await page.page.evaluate(webgl) is None
        assert page.errors == []
        await browser.close()
