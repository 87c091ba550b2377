"""The step of the tutorial about guardrails that is in the page."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documented import files
from tests.web.bridges import ROOT, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

TUTORIAL = ROOT / "docs" / "tutorials" / "guard-public-routes.md"
RULE = "gateway.networking.k8s.io/HTTPRoute/shop/cart#pay"
CONSTRAINT = "public-routes-have-authentication"
MISSING = "no SecurityPolicy with /jwt is in effect for shop.example.com"


async def test_the_step_on_the_page(serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path) -> None:
    texts = files(TUTORIAL)
    source = tmp_path / "source"
    source.mkdir()
    for name in ("gateway.yaml", "route.yaml", "guardrail.yaml"):
        (source / name).write_text(texts[name])
    bridge = serve(source)
    await page.go(f"{bridge.url}#tab=changes")
    await page.page.fill("#changes-text", texts["cors.yaml"])
    await page.page.get_by_role("button", name="See what would change").click()
    await page.shows("#changes-answer", "New violations (1)")
    await page.shows("#changes-answer", CONSTRAINT)

    (bridge.folder / "cors.yaml").write_text(texts["cors.yaml"])
    await page.go(bridge.url)
    await page.shows("#details .violations h3", "Violations (1)")
    await page.shows("#details .violations summary", CONSTRAINT)
    await page.page.locator(".violations").get_by_role("button", name="HTTPRoute/shop/cart#pay").click()
    await page.shows("#details .violations", MISSING)
    await page.until(f"policyBridge.graph.position('{RULE}')?.classes.includes('violating')")
    row = page.page.get_by_role("treeitem", name=f"Rule, pay, violates {CONSTRAINT} (deny, high)").first
    assert await row.locator(".violation").inner_text() == "!!!"

    await page.go(bridge.url)
    await page.page.get_by_label("Without").fill("SecurityPolicy.spec.jwt")
    await page.page.get_by_label("Without").press("Enter")
    await page.until(f"policyBridge.graph.position('{RULE}')")
