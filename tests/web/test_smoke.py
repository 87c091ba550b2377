"""The page in a real browser: the picture, the details of a click, a request and a pasted manifest."""

import pytest

from tests.web.bridges import Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.needs("chromium")]

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
MANIFEST = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: new, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
  overrides: {theme: neon}
---
apiVersion: example.com/v1
metadata: {name: broken}
"""


async def test_topology_is_drawn_with_policies(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.shows("#counts", "39 nodes · 16 policies")
    assert (await page.position(CHECKOUT)) is not None
    await page.shows("#state", "live")


async def test_click_tells_effective_policies_with_origins_and_why(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.click_node(CHECKOUT)
    await page.shows("#details h3", "cart#checkout")
    await page.shows("#details .fields", "colors.accent red shop/checkout")
    await page.shows("#details .stack", "shop/cart overridden")
    await page.page.locator("#details .why summary").first.click()
    await page.shows("#details .why", "PatchDefaults: ")
    assert "object=gateway.networking.k8s.io/HTTPRoute/shop/cart%23checkout" in page.page.url


async def test_request_is_tried(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.page.get_by_role("tab", name="Try a request").click()
    await page.page.fill("#request-host", "shop.example.com")
    await page.page.fill("#request-path", "/checkout/pay")
    await page.page.get_by_role("button", name="Try it").click()
    await page.shows("#request-answer .verdict", "Served by HTTPRoute/shop/cart#checkout")
    await page.shows("#request-answer", "Service/payments/ledger#http port 80 10 %")
    lit = await page.position(CHECKOUT)
    assert lit is not None
    assert "dim" not in lit["classes"]


async def test_pasted_manifest_is_reported_and_marked_in_the_picture(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.see_what_would_change(text=MANIFEST)
    await page.shows("#changes-answer .mistakes", "kind")
    await page.shows("#changes-answer .summary", "1 created: ColorPolicy/shop/new")
    await page.shows("#changes-answer .difference", "After")
    marked = await page.position(CHECKOUT)
    assert marked is not None
    assert "changed" in marked["classes"]
