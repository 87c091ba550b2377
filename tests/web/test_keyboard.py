"""Everything can be done by keyboard, and has a name for who cannot see it."""

import asyncio

import pytest
from playwright.async_api import Route

from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

UNNAMED = """[...document.querySelectorAll('button, input, select, textarea, [tabindex], [role=treeitem]')]
  .filter((one) => one.checkVisibility() && !one.closest('[hidden], dialog'))
  .filter((one) => !(one.ariaLabel || one.getAttribute('aria-labelledby')))
  .filter((one) => !(one.textContent.trim() || one.labels?.length))
  .map((one) => one.outerHTML)"""


async def test_outline_is_walked_with_arrow_keys(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    press = page.page.keyboard.press
    focused = "document.activeElement.getAttribute('aria-label')"
    await page.page.locator("[role=treeitem][tabindex='0']").focus()
    assert await page.page.evaluate(focused) == "Gateway · infra, internal"
    await press("ArrowLeft")  # closes it
    await page.until("document.activeElement.getAttribute('aria-expanded') === 'false'")
    await press("ArrowRight")  # opens it
    await page.until("document.activeElement.getAttribute('aria-expanded') === 'true'")
    await press("ArrowRight")  # goes in
    assert "internal-tools" in await page.page.evaluate(focused)
    await press("Enter")
    await page.shows("#details h3", "internal-tools")
    await press("ArrowLeft")
    assert await page.page.evaluate(focused) == "Gateway · infra, internal"
    await press("End")
    assert await page.page.evaluate("document.activeElement === [...document.querySelectorAll('.row')].at(-1)")


async def test_tabs_are_changed_with_arrow_keys(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.page.focus("#tab-details")
    await page.page.keyboard.press("ArrowRight")
    assert await page.page.locator("#panel-request").is_visible()
    await page.page.keyboard.press("End")
    assert await page.page.locator("#panel-changes").is_visible()


async def test_picture_is_moved_and_zoomed_with_keys(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    before = await page.view()
    await page.page.focus("#graph")
    await page.page.keyboard.press("+")
    await page.page.keyboard.press("ArrowRight")
    after = await page.view()
    assert after["zoom"] > before["zoom"]
    assert after["pan"] != before["pan"]


async def test_focus_goes_through_the_page_in_order_and_is_seen(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    seen: list[str] = []
    while "tab-details" not in seen:
        await page.page.keyboard.press("Tab")
        seen.append(await page.page.evaluate("document.activeElement.id || document.activeElement.className"))
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert await page.page.evaluate(style) != "none", seen[-1]
    expected = ["skip", "namespace", "view-list", "theme", "search-text", "graph", "tab-details"]
    assert [name for name in seen if name in expected] == expected, seen
    # From the search, the details are the second stop, and the filters follow them.
    assert seen[-3:] == ["search-text", "graph", "tab-details"]
    while "filter-problems" not in seen:
        await page.page.keyboard.press("Tab")
        seen.append(await page.page.evaluate("document.activeElement.id"))


async def test_list_is_one_stop_and_walked_with_arrow_keys(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#view=list")
    press = page.page.keyboard.press
    focused = "document.activeElement.dataset.key ?? document.activeElement.textContent.trim()"
    await page.page.focus("#search-text")
    await press("Tab")
    assert await page.page.evaluate(focused) == "gateway.networking.k8s.io/GatewayClass/-/example"
    await press("ArrowDown")
    assert "blog" in await page.page.evaluate(focused)
    await press("Enter")
    await page.until("document.querySelector('#list-rows [aria-selected=true]')")
    await press("Tab")
    assert await page.page.evaluate("document.activeElement.id") == "tab-details"
    await press("Shift+Tab")
    await press("Home")
    await press("ArrowUp")
    assert await page.page.evaluate(focused) == "Namespace ▴"
    await press("ArrowRight")
    await press("ArrowRight")
    await press("Enter")
    await page.until("document.querySelector('[data-column=name]').ariaSort === 'ascending'")
    assert "sort=name" in page.page.url


async def test_everything_has_a_name(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    for tab in ("details", "request", "changes"):
        await page.page.click(f"#tab-{tab}")
        assert await page.page.evaluate(UNNAMED) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_theme_follows_the_system_and_the_switch(shop: Bridge, page: Opened, theme: str) -> None:
    await page.page.emulate_media(color_scheme="dark" if theme == "light" else "light")
    await page.go(shop.url)
    background = "getComputedStyle(document.body).backgroundColor"
    system = await page.page.evaluate(background)
    for _ in range(1 if theme == "light" else 2):
        await page.page.click("#theme")
    assert await page.page.evaluate("document.documentElement.dataset.theme") == theme
    assert await page.page.evaluate(background) != system
    await page.page.reload()
    await page.until("policyBridge.drawn.shown > 0")
    assert await page.page.evaluate("document.documentElement.dataset.theme") == theme


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
async def test_request_is_tried_in_two_stops_and_its_answer_has_the_focus(
    shop: Bridge, page: Opened, width: int, height: int
) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(shop.url)
    keyboard = page.page.keyboard
    for key in ("Tab", "Tab", "Enter"):
        await keyboard.press(key)
    assert await page.page.evaluate("document.activeElement.id") == "request-host"
    await keyboard.type("https://shop.example.com/checkout")
    await keyboard.press("Enter")
    await page.until("document.activeElement.classList.contains('verdict')")
    verdict = "document.activeElement.textContent"
    assert "Served by HTTPRoute/shop/cart#checkout" in await page.page.evaluate(verdict)
    await page.until("document.activeElement.getBoundingClientRect().bottom < innerHeight - 100")
    await keyboard.press("Tab")
    assert await page.page.evaluate("document.activeElement.textContent") == "HTTPRoute/shop/cart#checkout"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (640, 400), (390, 844)])
async def test_a_preview_has_the_focus_and_its_answer_is_in_sight(
    shop: Bridge, page: Opened, width: int, height: int
) -> None:
    """Also beside a list with a chosen row, which scrolls by itself."""
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(f"{shop.url}#view=list&object=HTTPRoute/shop/storefront")
    await page.shows("#details .fields", "colors.accent")
    await page.see_what_would_change(delete="TimeoutPolicy/shop/catalog")
    await page.until("document.activeElement.classList.contains('verdict')")
    box = "document.activeElement.getBoundingClientRect()"
    assert await page.page.evaluate(f"{box}.top >= 0 && {box}.bottom < innerHeight - 100")


async def test_results_of_a_search_have_names_for_speech_and_their_number_is_announced(
    shop: Bridge, page: Opened
) -> None:
    await page.go(shop.url)
    await page.page.focus("#search-text")
    await page.page.keyboard.type("storefront")
    await page.shows("#announcement", "5 results")
    names = [await one.get_attribute("aria-label") for one in await page.page.locator("[role=option]").all()]
    assert names[:2] == ["shop/storefront, HTTPRoute", "shop/storefront, ColorPolicy, targetRefs[0].name: storefront"]


async def test_link_to_the_details_leaves_another_tab(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#tab=request")
    for key in ("Tab", "Enter"):
        await page.page.keyboard.press(key)
    assert await page.page.evaluate("document.activeElement.closest('#panel-details') !== null")


@pytest.mark.parametrize("tab", ["request", "changes"])
async def test_late_error_does_not_take_the_focus_from_another_field(shop: Bridge, page: Opened, tab: str) -> None:
    page.excuse("400", "404")
    await page.go(f"{shop.url}#tab={tab}")
    released = asyncio.Event()

    async def late(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await page.page.route("**/api/changes*", late)
    await page.page.route("**/api/query/request", late)
    field, other = {"request": ("request-path", "request-host"), "changes": ("changes-delete", "changes-text")}[tab]
    await page.page.focus(f"#{field}")
    await page.page.keyboard.type("zzz")
    await page.page.keyboard.press("Enter")
    await page.page.focus(f"#{other}")
    released.set()
    await page.until(f"document.getElementById('{field}').ariaInvalid === 'true'")
    assert await page.page.evaluate("document.activeElement.id") == other
    await page.page.focus(f"#{field}")
    await page.page.keyboard.press("Enter")
    await page.shows(f"#{tab}-form .error", "zzz" if tab == "changes" else "path must")
    assert await page.page.evaluate("document.activeElement.id") == field


async def test_filters_take_the_focus_when_they_are_opened_and_escape_leaves_them(shop: Bridge, page: Opened) -> None:
    await page.page.set_viewport_size({"width": 1280, "height": 800})
    await page.go(f"{shop.url}#view=picture")
    button = page.page.get_by_role("button", name="Filters and outline")
    await button.focus()
    await page.page.keyboard.press("Enter")
    assert await page.page.evaluate("document.activeElement.id") == "filter-problems"
    await page.page.keyboard.press("Escape")
    assert await page.page.evaluate("document.activeElement.id") == "toggle-side"
    assert await button.get_attribute("aria-expanded") == "true"
    await page.page.click("#view-list")
    await page.page.get_by_role("button", name="Filters", exact=True).wait_for()
