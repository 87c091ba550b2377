"""Policies of vendors on the page: what their controllers report, and kinds that no policy kind describes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import Opened

pytestmark = pytest.mark.asyncio(loop_scope="session")

EXAMPLE = ROOT / "examples" / "three-gateways"
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


async def test_report_of_a_controller_is_shown_beside_the_verdict(
    serve: Callable[[Path], Bridge], page: Opened
) -> None:
    bridge = serve(EXAMPLE)
    await page.go(bridge.url)
    await page.shows("#details", "shop/orders reported differently the status says Unknown")
    await page.go(f"{bridge.url}#object={POLICY}")
    await page.shows("#details .conditions", "True · Enforced")
    await page.shows("#details .reports .differs", "the status says Unknown (AuthPolicy has encountered some issues")
    await page.shows("#details .reports .conditions", "False · Unknown")
    enforced = await page.position(f"{POLICY}\n@{ROUTE}")
    assert enforced is not None
    assert "programmed" in enforced["classes"]


async def test_policies_that_no_kind_describes_have_a_group_of_their_own(
    serve: Callable[[Path], Bridge], page: Opened
) -> None:
    bridge = serve(SHOP)
    await page.go(bridge.url)
    await page.page.locator("#undescribed").wait_for(state="hidden")
    (bridge.folder / "unknown.yaml").write_text(UNKNOWN)
    await page.shows("#filter-undescribed", "WafPolicy 1")
    assert await page.page.locator("#filter-policy-kinds", has_text="WafPolicy").count() == 0
    pill = f"acme.example/WafPolicy/shop/strict\n@{CART}"
    await page.until(f"policyBridge.graph.position({pill!r}) !== null")
    await page.page.get_by_role("checkbox", name="WafPolicy").uncheck()
    await page.until(f"policyBridge.graph.position({pill!r}) === null")
    await page.go(f"{bridge.url}#object=acme.example/WafPolicy/shop/strict")
    await page.shows("#details", "No policy kind describes WafPolicy, so the policy has no effect here")
