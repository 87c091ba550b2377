"""Policies of vendors on the page: what their controllers report, and kinds that no policy kind describes."""

import pytest

from tests.web.bridges import ROOT, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/orders"
POLICY = "kuadrant.io/AuthPolicy/shop/orders"
UNKNOWN = """
apiVersion: acme.example/v1
kind: WafPolicy
metadata: {name: strict, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
"""
CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
NOT_MODELED = ROOT / "tests" / "scenarios" / "envoy_gateway_not_modeled" / "objects.yaml"


async def test_report_of_a_controller_is_shown_beside_the_verdict(three_gateways: Bridge, page: Opened) -> None:
    await page.go(three_gateways.url)
    await page.shows("#details", "shop/orders status mismatch the status reports Unknown")
    await page.go(f"{three_gateways.url}#object={POLICY}")
    await page.shows("#details .conditions", "True · Enforced")
    await page.shows("#details .reports .differs", "the status reports Unknown (AuthPolicy has encountered some issues")
    await page.shows("#details .reports .conditions", "False · Unknown")
    enforced = await page.position(f"{POLICY}\n@{ROUTE}")
    assert enforced is not None
    assert "programmed" in enforced["classes"]


async def test_policies_that_no_kind_describes_have_a_group_of_their_own(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    await page.page.locator("#undescribed").wait_for(state="hidden")
    (changing.folder / "unknown.yaml").write_text(UNKNOWN)
    await page.shows("#filter-undescribed", "WafPolicy 1")
    assert await page.page.locator("#filter-policy-kinds", has_text="WafPolicy").count() == 0
    pill = f"acme.example/WafPolicy/shop/strict\n@{CART}"
    await page.until(f"policyBridge.graph.position({pill!r}) !== null")
    await page.page.get_by_role("checkbox", name="WafPolicy").uncheck()
    await page.until(f"policyBridge.graph.position({pill!r}) === null")
    await page.go(f"{changing.url}#object=acme.example/WafPolicy/shop/strict")
    await page.shows("#details", "No policy kind describes WafPolicy, so the bridge ignores the policy")


async def test_result_that_a_feature_makes_incomplete_is_marked(changing: Bridge, page: Opened) -> None:
    (changing.folder / "late.yaml").write_text(NOT_MODELED.read_text())
    route = "gateway.networking.k8s.io/HTTPRoute/envoy-gateway-not-modeled/cart"
    await page.go(f"{changing.url}#object={route}%23all")
    await page.shows("#details .path", "Incomplete: BackendTrafficPolicy/envoy-gateway-not-modeled/cart: local rate")
