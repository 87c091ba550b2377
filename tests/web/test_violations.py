"""Violations of guardrails: marks on what is at fault, a list, a filter, and those that a change would introduce."""

import shutil
from collections.abc import Iterator

import pytest

from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CHECKOUT = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
ASSETS = "gateway.networking.k8s.io/HTTPRoute/shop/storefront#assets"
CALLBACKS = "gateway.networking.k8s.io/HTTPRoute/payments/callbacks"
PORT = "core/Service/shop/cart#http"
ROUTES = "gateway.networking.k8s.io/HTTPRoute/shop"
MISSPELLED = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: misspelled, namespace: shop}
spec: {parentRefs: [{name: public, namespace: infra}], rulez: []}
"""
STRICTER = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: full-contrast}
spec:
  policy: bridge.guardrails.bounded_field
  match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [HTTPRoute]}]}
  parameters: {kind: example.com/ColorPolicy, field: /contrast, minimum: 100}
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """The example with guardrails."""
    folder = shutil.copytree(SHOP, tmp_path_factory.mktemp("guarded") / "shop")
    shutil.copy(ROOT / "examples" / "guardrails" / "constraints.yaml", folder)
    bridge = Bridge(folder, tmp_path_factory.mktemp("served") / "log")
    bridge.start()
    yield bridge
    bridge.stop()


async def test_a_violation_is_marked_with_its_enforcement_and_severity(guarded: Bridge, page: Opened) -> None:
    await page.go(f"{guarded.url}#object={CHECKOUT}")
    await page.until(f"policyBridge.graph.position('{CHECKOUT}')?.classes.includes('violating')")
    callbacks = await page.position(CALLBACKS)
    assert callbacks
    assert "violating" not in callbacks["classes"]
    row = page.page.get_by_role("treeitem", name="Rule, checkout, violates enough-contrast (warn, medium)").first
    assert await row.locator(".violation").inner_text() == "!!"
    policy = "ColorPolicy/shop/admin, overridden, violates no-dead-colors (warn, low)"
    await page.page.get_by_role("treeitem", name=policy).wait_for()  # one, which may come after the node
    await page.shows(
        "#details .violations", "enough-contrast warn, medium rule checkout via Gateway/infra/public#https"
    )


async def test_violations_are_listed_by_guardrail_the_most_severe_first(guarded: Bridge, page: Opened) -> None:
    await page.go(guarded.url)
    await page.shows("#details .violations h3", "Violations (20)")
    groups = [" ".join(text.split()) for text in await page.page.locator(".violations summary").all_inner_texts()]
    assert groups == [
        "!!! theme-of-the-platform dryrun, high · 3",
        "!! enough-contrast warn, medium · 10",
        "!! one-theme-for-a-service warn, medium · 5",
        "! no-dead-colors warn, low · 2",
    ]
    await page.page.locator(".violations summary", has_text="enough-contrast").click()
    await page.shows("#details .violations", "and 5 more")
    await page.page.locator(".violations").get_by_role("button", name="HTTPRoute/shop/storefront#assets").click()
    await page.shows("#details h3", "storefront#assets")


async def test_violations_of_a_guardrail_are_shown_alone(guarded: Bridge, page: Opened) -> None:
    await page.go(guarded.url)
    await page.page.get_by_role("group", name="Violated Constraints").get_by_text("theme-of-the-platform").check()
    await page.until(f"!policyBridge.graph.position('{CHECKOUT}')")
    assert await page.position(ASSETS)
    assert "violations=theme-of-the-platform" in page.page.url
    shown = await page.view()
    await page.page.reload()
    await page.until("policyBridge.drawn.shown > 0")
    assert (await page.view())["zoom"] == pytest.approx(shown["zoom"], rel=0.01)
    await page.page.get_by_role("button", name="Show everything").click()
    await page.page.get_by_role("button", name="Show only violations").click()
    await page.until(f"policyBridge.graph.position('{CHECKOUT}') && !policyBridge.graph.position('{PORT}')")


async def test_violations_follow_changes(guarded: Bridge, page: Opened) -> None:
    await page.go(guarded.url)
    await page.shows("#details .violations h3", "Violations (20)")
    added = guarded.folder / "stricter.yaml"
    added.write_text(STRICTER)
    try:
        await page.shows("#details .violations", "full-contrast deny, medium")
    finally:
        added.unlink()
    await page.shows("#details .violations h3", "Violations (20)")


async def test_violations_and_misspelled_fields_are_problems(guarded: Bridge, page: Opened) -> None:
    added = guarded.folder / "misspelled.yaml"
    added.write_text(MISSPELLED)
    try:
        await page.go(f"{guarded.url}#view=list")
        await page.shows("#details", "HTTPRoute/shop/misspelled UnknownField")
        await page.page.get_by_label("Only problems").check()
        await page.until(
            "!document.querySelector('#list-rows [data-key=\"gateway.networking.k8s.io/Gateway/infra/public\"]')"
        )
        rows = await page.page.locator("#list-rows tr").evaluate_all("rows => rows.map((row) => row.dataset.key)")
        assert {CHECKOUT.partition("#")[0], f"{ROUTES}/misspelled"} <= set(rows)
        await page.page.locator("#view-picture").click()
        await page.until(f"policyBridge.graph.position('{CHECKOUT}')")
        assert await page.position(f"{ROUTES}/misspelled")
    finally:
        added.unlink()


async def test_problems_of_objects_without_a_place_are_not_left_out_silently(guarded: Bridge, page: Opened) -> None:
    await page.go(f"{guarded.url}#view=list&problems=only&namespaces=nowhere")
    await page.shows("#list-empty", "No object here has problems")


async def test_a_change_lists_new_violations_apart_from_those_that_exist(guarded: Bridge, page: Opened) -> None:
    await page.go(guarded.url)
    await page.see_what_would_change(delete="ColorPolicy/infra/brand")
    await page.shows("#changes-answer .verdict", "the change introduces 11 violations")
    new = page.page.locator("#changes-answer section", has_text="New violations (11)")
    assert "colors-stay (deny)" in await new.inner_text()
    assert "enough-contrast" not in await new.inner_text()
    await page.page.locator("#changes-answer summary", has_text="Violations that exist already").click()
    await page.shows("#changes-answer .group[open]", "enough-contrast (warn)")


async def test_search_finds_constraints_also_those_that_nothing_violates(guarded: Bridge, page: Opened) -> None:
    added = guarded.folder / "unviolated.yaml"
    added.write_text(STRICTER.replace("full-contrast", "some-contrast").replace("minimum: 100", "minimum: 0"))
    try:
        await page.go(guarded.url)
        for name, shown in (("enough-contrast", "Show only these"), ("some-contrast", "No object violates it.")):
            await page.page.locator("#search-text").fill(name)
            await page.page.locator("#search-found [role=option]", has_text=name).first.click(timeout=20_000)
            await page.shows("#details .violations", shown)
    finally:
        added.unlink()


async def test_warnings_of_a_change_are_no_problems(guarded: Bridge, page: Opened) -> None:
    await page.go(guarded.url)
    route = MISSPELLED.replace("rulez: []", 'hostnames: ["a.example.com", "a.other.test"], rules: [{name: r}]')
    await page.see_what_would_change(text=route)
    await page.shows("#changes-answer .verdict", "△")
    await page.shows("#changes-answer .verdict", "and the change introduces 1 violation and 1 warning.")
    warnings = page.page.locator("#changes-answer section", has_text="Warnings introduced (1)")
    assert "serves its hostname a.other.test" in await warnings.inner_text()
