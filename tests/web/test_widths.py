"""The page at the widths of desktops, laptops, tablets and phones."""

import pytest

from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
PUBLIC = "gateway.networking.k8s.io/Gateway/infra/public"
LEDGER = "core/Service/payments/ledger"
WIDE = [(1440, 900), (1280, 720)]
ZOOMED = (640, 400)  # a laptop at 200 %
SIZES = [*WIDE, (800, 1000), (390, 844), ZOOMED]
# Pixels of the content that are beside the window, and controls that something else covers.
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
COVERED = """[...document.querySelectorAll('button, input, select, textarea, [role=tab]')].filter((one) => {
  if (!one.checkVisibility({ visibilityProperty: true })) return false;
  const { left, right, top, bottom } = one.getBoundingClientRect();
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
  const scroller = one.closest('.scroll, .find')?.getBoundingClientRect();
  if (scroller && (y < scroller.top || y > scroller.bottom)) return false;
  const top_ = document.elementFromPoint(x, y);
  return top_ && !one.contains(top_) && !top_.contains(one);
}).map((one) => one.id || one.outerHTML)"""
OUTSIDE = """(() => {
  const { left, right, top, bottom } = document.getElementById('graph').getBoundingClientRect();
  return [...policyBridge.topology.nodes.keys()].filter((key) => {
    const at = policyBridge.graph.position(key);
    return at && (at.x < left || at.x > right || at.y < top || at.y > bottom);
  });
})()"""


@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_nothing_is_cut_off_or_covered(shop: Bridge, page: Opened, width: int, height: int) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(shop.url)
    await page.shows("#state", "live")
    for tab in ("details", "request", "changes"):
        await page.page.click(f"#tab-{tab}")
        assert await page.page.evaluate(OVERFLOW) <= 0, tab
        assert await page.page.evaluate(COVERED) == [], tab


async def test_whole_example_is_in_the_first_picture_of_a_wide_screen(shop: Bridge, page: Opened) -> None:
    await page.page.set_viewport_size({"width": 1920, "height": 1080})
    await page.go(shop.url)
    await page.page.click("#toggle-side")
    await page.until(f"({OUTSIDE}).length === 0")


@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_picture_scrolls_instead_of_shrinking_its_text(
    shop: Bridge, page: Opened, width: int, height: int
) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(f"{shop.url}#view=picture")
    assert (await page.view())["zoom"] >= 1  # 11 pixels
    assert "gateway.networking.k8s.io/Gateway/infra/internal" not in await page.page.evaluate(OUTSIDE)
    box = await page.page.locator("#graph").bounding_box()
    assert box
    await page.page.mouse.move(box["x"] + 40, box["y"] + 40)
    for _ in range(12):
        await page.page.mouse.wheel(120, 0)
    right = box["x"] + box["width"]
    await page.until(f"policyBridge.graph.position({LEDGER!r}).x < {right}")
    assert (await page.view())["zoom"] >= 1
    # The headings of columns are above them.
    heading = await page.page.locator("#columns span", has_text="Backend").bounding_box()
    at = await page.position(LEDGER)
    assert heading
    assert at
    assert heading["x"] < at["x"] < heading["x"] + heading["width"]


async def test_picture_leaves_out_nodes_without_information(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#view=picture")
    for key in ("gateway.networking.k8s.io/GatewayClass/-/example", "core/Service/shop/cart#http"):
        assert await page.position(key) is None
    titles = await page.page.locator("#columns span").all_inner_texts()
    assert titles == ["Gateway", "Listener", "Route", "Rule", "Backend", "Port"]
    await page.page.evaluate("location.hash = '#view=picture&object=GatewayClass/example'")
    await page.until("policyBridge.graph.position('gateway.networking.k8s.io/GatewayClass/-/example')")


async def test_picture_is_fitted_again_until_the_user_chooses_a_part(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.page.set_viewport_size({"width": 1100, "height": 700})
    await page.until(f"!({OUTSIDE}).includes({PUBLIC!r})")
    await page.page.click("#zoom-in")
    zoom = (await page.view())["zoom"]
    await page.page.set_viewport_size({"width": 1440, "height": 900})
    await page.until("innerWidth === 1440")
    assert (await page.view())["zoom"] == zoom


@pytest.mark.parametrize("zoom", [0.05, 0.15, 0.3, 0.6, 1.0])
async def test_names_are_drawn_at_every_zoom(shop: Bridge, page: Opened, zoom: float) -> None:
    await page.go(shop.url)
    while (now := (await page.view())["zoom"]) > zoom * 1.01:
        await page.page.evaluate(f"policyBridge.graph.zoomBy({max(0.5, zoom / now)})")
    await page.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    painted = """(() => {
      const canvas = document.getElementById('paint');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((one, at) => at % 4 === 3 && one > 200).length;
    })()"""
    assert await page.page.evaluate(painted) > 100


@pytest.mark.parametrize(("width", "height"), SIZES[2:4])
async def test_outline_is_a_drawer_on_narrow_screens(shop: Bridge, page: Opened, width: int, height: int) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(f"{shop.url}#view=picture")
    assert await page.page.locator("#outline").is_hidden()
    await page.page.click("#toggle-side")
    assert await page.page.locator("#filter-problems").is_visible()
    assert await page.page.evaluate("document.activeElement.id") == "filter-problems"
    await page.page.keyboard.press("Escape")
    assert await page.page.locator("#outline").is_hidden()
    assert await page.page.evaluate("document.activeElement.id") == "toggle-side"
    await page.page.click("#toggle-side")
    await page.page.get_by_role("treeitem", name="Rule, checkout").click()
    await page.shows("#details h3", "cart#checkout")
    assert await page.page.locator("#outline").is_hidden()


async def test_panels_close_and_stay_closed(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    before = await page.page.evaluate("document.getElementById('picture').clientWidth")
    await page.page.click("#toggle-side")
    await page.page.click("#toggle-panel")
    assert await page.page.evaluate("document.getElementById('picture').clientWidth") > before + 500
    await page.page.reload()
    await page.until("policyBridge.drawn.shown > 0")
    assert await page.page.locator("#outline").is_hidden()
    await page.click_node(CHECKOUT)
    await page.shows("#details h3", "cart#checkout")  # a choice opens the details


async def test_panels_are_resized_by_pointer_and_keys(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    width = "document.getElementById('panel').clientWidth"
    before = await page.page.evaluate(width)
    await page.page.focus("#resize-panel")
    await page.page.keyboard.press("ArrowLeft")
    after = await page.page.evaluate(width)
    assert after == before + 24
    box = await page.page.locator("#resize-panel").bounding_box()
    assert box
    await page.page.mouse.move(box["x"] + 4, 500)
    await page.page.mouse.down()
    await page.page.mouse.move(box["x"] - 96, 500)
    await page.page.mouse.up()
    wider = await page.page.evaluate(width)
    assert wider == after + 100
    await page.page.reload()
    await page.until("policyBridge.drawn.shown > 0")
    assert await page.page.evaluate(width) == wider


async def test_captions_of_the_outline_are_not_cut_after_a_separator(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.shows("#outline .caption", "Gateway · infra")
    captions = "[...document.querySelectorAll('#outline .caption')].map((one) => one.textContent).join()"
    assert "· " not in await page.page.evaluate(
        captions
    )  # this space breaks a line, of which the first alone is visible
