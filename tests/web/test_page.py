"""What a person sees and does on the page."""

import pytest

from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
FAILING = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: late, namespace: shop}
spec:
  parentRefs: [{name: public, namespace: infra, sectionName: https}]
  hostnames: [late.shop.example.com]
  rules:
  - matches: [{headers: [{name: x-form, value: a=1&b=2}]}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: catalog, port: 80}}}]
"""


async def test_nothing_is_fetched_from_elsewhere(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    assert page.requested
    assert all(url.startswith(shop.url) for url in page.requested)


async def test_overridden_policy_looks_overridden_in_picture_and_outline(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.shows("#state", "live")
    admin = "gateway.networking.k8s.io/HTTPRoute/shop/admin"
    pill = await page.position(f"example.com/ColorPolicy/shop/admin\n@{admin}")
    assert pill is not None
    assert "overridden" in pill["classes"]
    row = page.page.get_by_role("treeitem", name="ColorPolicy/shop/admin, overridden")
    style = await row.locator(".name").evaluate("(element) => getComputedStyle(element).textDecorationLine")
    assert style == "line-through"


async def test_policy_shows_its_targets(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=example.com/ColorPolicy/infra/brand")
    await page.shows("#details h3", "brand")
    await page.shows("#details", "Reaches 10 effective targets")
    await page.shows("#details", "HTTPRoute/blog/posts")
    await page.shows("#details .conditions", "PartiallyProgrammed")
    await page.shows("#details .difference", "Before")


async def test_pasted_url_is_split_into_the_fields_of_its_parts(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#tab=request")
    await page.page.fill("#request-host", "https://shop.example.com:443/checkout/pay?step=2")
    await page.page.get_by_role("button", name="Try it").click()
    await page.shows("#request-answer .verdict", "Served by HTTPRoute/shop/cart#checkout")
    fields = [await page.page.input_value(f"#request-{name}") for name in ("protocol", "host", "port", "path", "query")]
    assert fields == ["HTTPS", "shop.example.com", "443", "/checkout/pay", "step=2"]
    await page.page.fill("#request-host", "http://shop.example.com")
    await page.page.fill("#request-path", "/cart?step=3")
    await page.page.get_by_role("button", name="Try it").click()
    await page.shows("#request-answer .trail", "Gateway/infra/internal")  # as `pbctl request` answers for http
    assert await page.page.input_value("#request-port") == ""


async def test_request_that_always_fails_is_not_shown_as_served(changing: Bridge, page: Opened) -> None:
    (changing.folder / "late.yaml").write_text(FAILING)
    await page.go(f"{changing.url}#tab=request&r.host=late.shop.example.com&r.headers=x-form:+a%3D1%26b%3D2")
    await page.shows("#request-answer .verdict.bad", "Every request fails (500): the rule has no backends")
    await page.shows("#request-answer", "Service/shop/catalog#http port 80 by RequestMirror")


async def test_link_that_is_opened_in_an_open_page_asks_its_request(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    for path, rule in (("/cart", "view"), ("/checkout", "checkout")):
        await page.page.evaluate(f"location.hash = '#tab=request&r.host=shop.example.com&r.path={path}'")
        await page.shows("#request-answer .verdict", f"Served by HTTPRoute/shop/cart#{rule}")
    await page.page.go_back()
    await page.shows("#request-answer .verdict", "Served by HTTPRoute/shop/cart#view")
    assert await page.page.input_value("#request-path") == "/cart"


async def test_request_without_a_rule_shows_the_nearest_one(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#tab=request&r.host=payments.example.com&r.path=/bank&r.port=443")
    await page.shows("#request-answer .verdict", "NoRoute")
    await page.shows("#request-answer", "NotAllowedByListeners")


async def test_filters_leave_transitive_links_over_hidden_kinds(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#hide=Rule")
    assert (await page.position(CHECKOUT)) is None
    edge = await page.position(f"\n{CART}\ncore/Service/shop/cart")
    assert edge is not None
    assert "transitive" in edge["classes"]


async def test_filter_by_name_namespace_and_policy_kind(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#namespaces=blog")
    await page.until(f"!policyBridge.graph.position({CART!r})")
    assert (await page.position("gateway.networking.k8s.io/HTTPRoute/blog/feeds")) is not None
    await page.page.get_by_role("button", name="Show everything").click()
    await page.until(f"policyBridge.graph.position({CART!r})")
    await page.page.get_by_label("Namespace", exact=True).select_option("blog")
    await page.until(f"!policyBridge.graph.position({CART!r})")
    assert "namespaces=blog" in page.page.url
    await page.page.get_by_role("button", name="Show everything").click()
    await page.page.get_by_role("group", name="Policy kinds").get_by_text("TimeoutPolicy").click()
    await page.until("policyBridge.graph.position('core/Service/payments/ledger')")
    pill = "example.com/TimeoutPolicy/payments/ledger\n@core/Service/payments/ledger"
    assert (await page.position(pill)) is None


async def test_backend_lists_the_policies_of_requests_that_it_receives(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=core/Service/shop/cart")
    await page.shows("#details .explained", "No policy takes effect at this object itself.")
    await page.shows("#details .received", "HTTPRoute/shop/cart#checkout")
    await page.shows("#details .received .fields", "colors.accent red shop/checkout")


async def test_effective_spec_is_copied_as_yaml(shop: Bridge, page: Opened) -> None:
    await page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.go(f"{shop.url}#object=gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout")
    await page.page.locator("#details .yaml summary").first.click()
    await page.page.locator("#details .yaml button").first.click()
    await page.shows("#details .yaml .copy", "copied")
    assert "contrast: 10\n" in await page.page.evaluate("navigator.clipboard.readText()")


async def test_differences_are_grouped_by_route_and_brought_into_view(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    for _ in range(6):
        await page.page.click("#zoom-in")
    await page.see_what_would_change(delete="ColorPolicy/infra/brand")
    await page.shows("#changes-answer .group summary", "HTTPRoute/blog/posts (")
    await page.shows("#changes-answer .verdict.changes", "Effective policies change at")
    groups = await page.page.locator("#changes-answer .group").count()
    assert 1 < groups < await page.page.locator("#changes-answer .difference").count()
    # The rule that loses its only policy stays; what changes is lit, also while something else is chosen.
    await page.page.locator("#outline .row", has_text="to-https").locator(".mark", has_text="△").wait_for()
    await page.click_node(CART)
    changed = await page.position("gateway.networking.k8s.io/HTTPRoute/blog/posts#read")
    assert changed is not None
    assert "dim" not in changed["classes"]
    at = await page.position("gateway.networking.k8s.io/HTTPRoute/blog/posts")
    frame = await page.page.locator("#graph").bounding_box()
    assert at
    assert frame
    assert frame["x"] < at["x"] < frame["x"] + frame["width"]


@pytest.mark.parametrize("text", ["kind: [", "just a sentence", "- 1\n- 2\n"])
async def test_unreadable_yaml_is_an_error(shop: Bridge, page: Opened, text: str) -> None:
    await page.go(shop.url)
    await page.see_what_would_change(text=text)
    await page.shows("#changes-answer .verdict", "cannot be read")
    await page.shows("#changes-answer .mistakes", "Line ")


async def test_links_in_the_details_keep_the_focus(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout")
    await page.shows("#details .fields", "colors.accent")
    await page.page.locator("#details .fields .link").first.focus()
    await page.page.keyboard.press("Enter")
    await page.shows("#details .conditions", "Accepted")
    assert await page.page.evaluate("document.activeElement.closest('#details') !== null")


NOWHERE = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: adrift, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: no-such-route}], theme: dark}
"""


async def test_policies_that_are_attached_to_nothing_are_counted_filtered_and_shown(
    changing: Bridge, page: Opened
) -> None:
    key = "policybridge.io/Nothing/shop/attached"
    (changing.folder / "adrift.yaml").write_text(NOWHERE)
    await page.go(changing.url)
    row = page.page.get_by_role("treeitem", name="ColorPolicy/shop/adrift")
    await row.wait_for()
    counted = page.page.locator("#filter-outcomes label", has_text="not\u00a0accepted").locator(".count")
    before = int(await counted.inner_text())
    assert before >= 1
    await page.page.get_by_role("button", name="Show only").first.click()
    assert await page.position(f"example.com/ColorPolicy/shop/adrift\n@{key}") is not None
    # They are in a row below all others.
    lowest = "Math.max(...[...policyBridge.topology.nodes.keys()].filter((key) => !key.includes('/Nothing/'))"
    lowest += ".map((key) => policyBridge.graph.position(key)?.y ?? 0))"
    at = await page.position(key)
    assert at
    assert at["y"] > await page.page.evaluate(lowest)
    await row.click()
    await page.shows("#details", "Not attached: the target doesn't exist.")
    for number in range(5):
        (changing.folder / f"adrift-{number}.yaml").write_text(NOWHERE.replace("adrift", f"adrift-{number}"))
    await page.shows("#filter-outcomes label:has-text('not\u00a0accepted') .count", str(before + 5))


async def test_the_page_is_live_once_the_outcomes_are_known(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.shows("#state", "live")
    found = await page.page.evaluate(
        """async () => {
          const stream = new EventSource('api/stream');
          const known = ({ data }, found) => JSON.parse(data).outcomes && found();
          await new Promise((found) => stream.addEventListener('state', (event) => known(event, found)));
          const { policies } = await (await fetch('api/topology')).json();
          return Object.entries(policies)
            .filter(([, { conditions }]) => conditions[0].status === 'True')
            .map(([key, { outcome }]) => [key, outcome]);
        }"""
    )
    assert len(found) > 10
    assert [key for key, outcome in found if not outcome] == []
