"""axe-core finds nothing on the page, in light and dark, at each width."""

import pytest
from axe_playwright_python.async_playwright import Axe

from tests.web.bridges import Bridge
from tests.web.page import Opened
from tests.web.test_widths import SIZES

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CHOSEN = "object=gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout"
REQUEST = "tab=request&r.host=shop.example.com&r.path=/checkout/pay"
LIST = "view=list&find=accent"
PREVIEW = "tab=changes"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_axe_finds_nothing(shop: Bridge, page: Opened, theme: str, width: int, height: int) -> None:
    await page.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    await page.page.set_viewport_size({"width": width, "height": height})
    for address, ready in (
        (CHOSEN, "#details .fields"),
        (REQUEST, "#request-answer .verdict"),
        (LIST, "#list-rows .note"),
        (PREVIEW, "#changes-delete"),
    ):
        await page.page.goto("about:blank")  # another fragment alone loads nothing
        await page.page.goto(f"{shop.url}#{address}")
        await page.until(f"document.querySelector('{ready}')")
        if width <= 1000 and address == CHOSEN:
            await page.page.click("#toggle-side")
        if address == PREVIEW:
            await page.see_what_would_change(delete="TimeoutPolicy/shop/catalog")
            await page.shows("#changes-answer .verdict", "Effective policies change")
        found = (await Axe().run(page.page)).response["violations"]
        assert [(one["id"], one["help"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
