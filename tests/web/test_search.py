"""Search, filters and choices: what they find is marked, and the picture is fitted to what they leave."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Route

from tests.bench.load import Load
from tests.web.bridges import Bridge
from tests.web.page import CHOSEN_IN_SIGHT, Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

GROUP = "gateway.networking.k8s.io"
CALLBACKS = f"{GROUP}/HTTPRoute/payments/callbacks"
LEDGER = "core/Service/payments/ledger"
FOUND = "document.activeElement.id === 'search-text' && document.querySelectorAll('#search-found [role=option]').length"
# The drawn nodes that are not inside the picture.
OUTSIDE = """(() => {
  const { left, right, top, bottom } = document.getElementById('graph').getBoundingClientRect();
  return [...policyBridge.topology.nodes.keys()].filter((key) => {
    const at = policyBridge.graph.position(key);
    return at && !at.classes.includes('dim') && (at.x < left || at.x > right || at.y < top || at.y > bottom);
  });
})()"""


async def _search(page: Opened, text: str) -> str:
    """Search by keyboard alone; give the first result."""
    await page.page.evaluate("document.activeElement.blur()")
    await page.page.keyboard.press("/")
    await page.page.keyboard.type(text)
    await page.until(FOUND)
    return await page.page.locator("#search-found [role=option]").first.inner_text()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("cart#che", "shop/cart#checkout"),
        ("blog.example.com", "blog/feeds"),
        ("brand", "infra/brand"),
        ("summer", "shop/summer-sale"),  # its target does not exist
        ("conflicted", "shop/catalog-again"),
        ("notallowedby", "payments/callbacks"),
        ("httproute admin", "shop/admin"),
    ],
)
async def test_search_finds_names_hostnames_policies_and_reasons(
    shop: Bridge, page: Opened, text: str, first: str
) -> None:
    await page.go(shop.url)
    assert first in await _search(page, text)
    await page.page.keyboard.press("Enter")
    await page.shows("#details h3", first.rpartition("/")[2])


async def test_search_is_a_list_for_arrow_keys_and_escape_ends_it(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await _search(page, "cart")
    await page.page.keyboard.press("ArrowDown")
    await page.page.keyboard.press("ArrowDown")
    active = "document.getElementById('search-text').getAttribute('aria-activedescendant')"
    assert await page.page.evaluate(active) == "found-1"
    await page.page.keyboard.press("Escape")
    assert await page.page.locator("#search-found").is_hidden()
    await page.page.keyboard.press("Escape")
    await page.shows("#counts", "39 nodes · 16 policies")


async def test_search_of_a_namespace_offers_it_alone(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    assert "Namespace" in await _search(page, "blog")
    await page.page.keyboard.press("Enter")
    await page.until(f"!policyBridge.graph.position('{CALLBACKS}')")
    assert "namespaces=blog" in page.page.url
    assert await page.page.input_value("#namespace") == "blog"


async def test_search_marks_matches_and_hides_nothing(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    whole = await page.view()
    await _search(page, "callbacks")
    found, other = await page.position(CALLBACKS), await page.position(LEDGER)
    assert found
    assert other
    assert "found" in found["classes"]
    assert "found" not in other["classes"]
    assert await page.page.locator("#outline .row.found").count() == 3
    assert (await page.view())["nodes"] == whole["nodes"]
    assert CALLBACKS not in await page.page.evaluate(OUTSIDE)
    # What the user has moved stays where it is.
    await page.page.click("#zoom-in")
    moved = (await page.view())["zoom"]
    await _search(page, "ledger")
    assert (await page.view())["zoom"] == moved
    # Words that nothing has leave the picture as it is, too.
    await page.page.fill("#search-text", "no-such-word")
    await page.shows("#search-found", "Nothing has these words")
    assert (await page.view())["nodes"] == whole["nodes"]
    assert await page.page.locator("#empty").is_hidden()


async def test_search_finds_fields_and_values_of_policies(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await _search(page, "colors.accent")
    await page.shows("#search-found", "defaults.colors.accent: red")
    await page.page.fill("#search-text", "accent red")
    await page.shows("#search-found [role=option]", "shop/checkout")
    pill = f"example.com/ColorPolicy/shop/checkout\n@{GROUP}/HTTPRoute/shop/cart#checkout"
    await page.until(f"policyBridge.graph.position({pill!r}).classes.includes('found')")
    await page.page.get_by_role("button", name="List").click()
    await page.shows("#list-rows tr .note", "colors.accent: red")
    assert await page.page.locator("#list-rows tr").count() == 1


async def test_enter_in_the_search_moves_the_focus_to_the_details(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await _search(page, "cart#checkout")
    await page.page.keyboard.press("Enter")
    await page.until(
        "document.activeElement.textContent === 'cart#checkout' && document.querySelector('#details .fields')"
    )
    assert await page.page.evaluate("document.activeElement.ariaLabel") == "HTTPRoute cart #checkout"


async def test_matches_of_a_search_are_visible_on_a_phone(shop: Bridge, page: Opened) -> None:
    await page.page.set_viewport_size({"width": 390, "height": 844})
    await page.go(f"{shop.url}#view=picture")
    await _search(page, "ledger")
    graph = await page.page.locator("#graph").bounding_box()
    at = await page.position(LEDGER)
    assert graph
    assert at
    assert graph["x"] < at["x"] < graph["x"] + graph["width"]
    assert graph["y"] < at["y"] < graph["y"] + graph["height"]


async def test_picture_is_fitted_to_later_nodes(shop: Bridge, page: Opened) -> None:
    requests = 0

    async def first_in_part(route: Route) -> None:
        nonlocal requests
        requests += 1
        answer = await route.fetch()
        document = await answer.json()
        if requests == 1:
            drawn = ("GatewayClass/", "Gateway/infra/internal", "HTTPRoute/shop/cart")
            part = {key: node for key, node in document["nodes"].items() if any(name in key for name in drawn)}
            document |= {"whole": False, "nodes": part}
        await route.fulfill(response=answer, json=document)

    await page.page.route("**/api/topology*", first_in_part)
    await page.go(f"{shop.url}#object={GROUP}/HTTPRoute/shop/cart%23checkout")
    await page.shows("#details .fields", "colors.accent")  # no query fails before the rule is there
    checkout = f"{GROUP}/HTTPRoute/shop/cart#checkout"
    await page.until(f"policyBridge.topology.size === 39 && !{OUTSIDE}.includes({checkout!r})")
    await page.until(CHOSEN_IN_SIGHT)


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1024, 768)])
async def test_choice_in_the_outline_is_visible_with_its_path(
    shop: Bridge, page: Opened, width: int, height: int
) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(f"{shop.url}#object={GROUP}/HTTPRoute/shop/cart%23checkout")
    await page.shows("#details h3", "cart#checkout")
    assert f"{GROUP}/HTTPRoute/shop/cart#checkout" not in await page.page.evaluate(OUTSIDE)
    if width < 1600:
        await page.page.click("#toggle-side")
    await page.until(CHOSEN_IN_SIGHT)


LOST = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lost, namespace: shop}
spec: {parentRefs: [{name: gone}], rules: [{backendRefs: [{name: nowhere, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: unused, namespace: shop}
spec: {gatewayClassName: example, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: lost, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: unused}], defaults: {theme: dusk}}
"""


async def test_problems_are_first_and_can_be_shown_alone(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    assert await page.page.locator("#details h3").inner_text() == "Needs attention: 7 problems"
    await page.shows("#details .stack", "blog/feeds TargetNotFound Target HTTPRoute/blog/feeds#json is not found")
    numbers = await page.page.locator("#details .numbers").bounding_box()
    assert numbers
    assert numbers["height"] < 60  # two lines
    await page.page.get_by_label("Only problems").check()
    await page.until(f"!policyBridge.graph.position('{LEDGER}')")
    assert await page.position(CALLBACKS)
    assert "problems=only" in page.page.url
    await page.page.get_by_role("group", name="Outcomes").get_by_text("overridden", exact=True).click()
    await page.until("policyBridge.graph.position('gateway.networking.k8s.io/HTTPRoute/blog/posts')")
    await page.until(f"!policyBridge.graph.position('{CALLBACKS}')")
    await page.page.get_by_role("button", name="Show everything").click()
    await page.shows("#counts", "39 nodes · 16 policies")


async def test_targets_without_a_policy_of_a_kind_are_shown_alone(shop: Bridge, page: Opened) -> None:
    redirect = f"{GROUP}/HTTPRoute/infra/redirect#to-https"
    await page.go(shop.url)
    await page.page.get_by_label("Without").fill("colorpolicy.spec.colors.accent")
    await page.page.get_by_label("Without").press("Enter")
    await page.until(f"!policyBridge.graph.position('{redirect}')")
    assert await page.position(
        f"{CALLBACKS}#bank"
    )  # only the internal Gateway's policy, without this field, applies here
    assert "without=colorpolicy.spec.colors.accent" in page.page.url
    await page.page.get_by_role("button", name="Show everything").click()
    await page.until(f"policyBridge.graph.position('{redirect}')")
    page.excuse("404")
    await page.page.get_by_label("Without").fill("ColourPolicy")
    await page.page.get_by_label("Without").press("Enter")
    await page.shows("#filter-without-problem", "ColorPolicy")


async def test_search_list_and_problems_are_on_the_first_screen_of_a_phone(shop: Bridge, page: Opened) -> None:
    await page.page.set_viewport_size({"width": 390, "height": 844})
    await page.go(shop.url)
    for selector in ("#search-text", "#list-rows tr:nth-child(5)", "#details .stack li:nth-child(2)"):
        box = await page.page.locator(selector).bounding_box()
        assert box
        assert box["y"] + box["height"] < 844


async def test_one_node_is_shown_alone_with_its_path(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object={LEDGER}")
    button = page.page.get_by_role("button", name="Show only this")
    await button.click()
    await page.until(f"!policyBridge.graph.position('{GROUP}/HTTPRoute/shop/admin')")
    assert await page.position(CALLBACKS)
    assert await button.get_attribute("aria-pressed") == "true"
    assert f"focus={LEDGER}" in page.page.url
    await button.click()
    await page.until(f"policyBridge.graph.position('{GROUP}/HTTPRoute/shop/admin')")


async def test_object_is_shown_as_yaml(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object={LEDGER}")
    await page.page.locator("summary", has_text="Object as YAML").click()
    await page.shows("#details .yaml pre", "kind: Service")


async def test_reason_opens_its_meaning_and_the_next_step(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.page.locator("#details .reason summary", has_text="Conflicted").click()
    await page.shows("#details .reason[open]", "Merge the two policies")


async def test_large_topology_has_readable_names_and_its_namespaces(
    serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    with (folder / "all.yaml").open("w") as file:
        file.writelines(f"---\n{json.dumps(obj)}\n" for obj in Load(120).objects())
    await page.page.set_viewport_size({"width": 1400, "height": 900})
    await page.go(f"{serve(folder).url}#view=picture")
    assert (await page.view())["zoom"] >= 1
    await page.shows("#details .namespaces", "Namespaces (51)")
    await page.page.locator("#details .namespaces").get_by_role("button", name="team-7", exact=True).click()
    await page.until(f"policyBridge.graph.position('{GROUP}/HTTPRoute/team-7/route-7')")
    assert await page.position(f"{GROUP}/HTTPRoute/team-8/route-8") is None


SELECTED_IN_SIGHT = """(() => {
  const row = document.querySelector('#list-rows [aria-selected=true]')?.getBoundingClientRect();
  const list = document.getElementById('list').getBoundingClientRect();
  return row && row.top >= list.top && row.bottom <= list.bottom + 1;
})()"""


async def test_row_of_a_deep_link_is_in_sight_in_a_long_list(
    serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    with (folder / "all.yaml").open("w") as file:
        file.writelines(f"---\n{json.dumps(obj)}\n" for obj in Load(104).objects())
    await page.go(f"{serve(folder).url}#object={GROUP}/HTTPRoute/team-1/route-1")
    await page.shows("#state", "live")
    await page.shows("#details h3", "route-1")
    await page.until(SELECTED_IN_SIGHT)
    assert not await page.page.locator("#list-head [data-column=age]").is_visible()  # no object has an age


REPLACED = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: lone, namespace: infra}
spec: {gatewayClassName: example, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lone, namespace: infra}
spec: {parentRefs: [{name: lone}], rules: [{name: all}]}
---
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: replaced, namespace: infra, creationTimestamp: "2026-01-01T00:00:01Z"}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: lone}]
  defaults: {strategy: atomic, theme: dark}
---
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: replacing, namespace: infra, creationTimestamp: "2026-01-01T00:00:02Z"}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: lone}]
  defaults: {strategy: atomic, theme: light}
"""


async def test_links_are_named_from_the_object_that_declares_them_and_lost_policies_are_problems(
    changing: Bridge, page: Opened
) -> None:
    await page.go(changing.url)
    (changing.folder / "late.yaml").write_text(LOST)
    await page.shows("#details .stack", "HTTPRoute/shop/lost → Service/shop/nowhere BackendNotFound")
    await page.shows("#details .stack", "HTTPRoute/shop/lost → Gateway/shop/gone ParentNotFound")
    await page.shows("#details .stack", "shop/lost NoScope Policy has no effective target")


async def test_a_replaced_default_is_a_warning_and_no_problem(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    await page.shows("#details h3", "Needs attention: 7 problems")
    (changing.folder / "replaced.yaml").write_text(REPLACED)
    await page.shows("#details h3", "Needs attention: 7 problems, 1 warning")
    last = page.page.locator("#details .overview > .stack li").last
    assert "infra/replaced Overridden (warning)" in " ".join((await last.inner_text()).replace("(", " (").split())


MISTAKEN = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: mistaken, namespace: shop}
spec:
  parentRefs: [{name: public, namespace: infra, sectionName: https}]
  hostnams: [mistaken.shop.example.com]
  rules: [{matches: [{path: {type: Begins, value: /}}], backendRefs: [{name: cart, port: 80}]}]
---
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: idle}
spec: {policy: nobody.wrote.this, match: {kinds: [{apiGroups: [gateway.networking.k8s.io], kinds: [Gateway]}]}}
---
apiVersion: example.com/v1
kind: NoisePolicy
metadata: {name: stray, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]}
"""


async def test_everything_that_the_command_lists_is_worth_a_look(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    await page.shows("#details h3", "Needs attention: 7 problems")
    (changing.folder / "mistaken.yaml").write_text(MISTAKEN)
    await page.shows("#details h3", "Needs attention: 11 problems")
    program = Path(sys.executable).parent / "pbctl"
    listing = await asyncio.create_subprocess_exec(
        program, "problems", "--manifests", changing.folder, "-o", "json", stdout=PIPE, stderr=DEVNULL
    )
    found = json.loads((await listing.communicate())[0])
    problems = [problem for problem in found if problem["reason"] != "Violation"]
    assert (len(problems), len(found)) == (11, 13)
    await page.shows("#details .violations h3", "Violations (2)")
    rows = await page.page.locator("#details .overview > .stack li").all_inner_texts()
    for problem in problems:
        name = problem["subject"].split("/", 2)[2].removeprefix("-/")
        assert any(name in row and (problem["reason"] in row or "overridden" in row) for row in rows), problem
    await page.page.locator("#details .stack button", has_text="mistaken").first.click()
    await page.shows("#details .problems", 'unknown field "spec.hostnams"; did you mean "hostnames"?')
    (changing.folder / "mistaken.yaml").unlink()
    await page.page.evaluate("location.hash = ''")
    await page.shows("#details h3", "Needs attention: 7 problems")


async def test_enter_opens_an_object_before_policies_of_its_name(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await _search(page, "storefront")
    await page.page.keyboard.press("Enter")
    await page.shows("#details .caption", "HTTPRoute")
    await page.page.get_by_role("heading", name="HTTPRoute storefront").wait_for()
    await _search(page, "timeoutpolicy catalog")
    await page.page.keyboard.press("Enter")
    await page.page.get_by_role("heading", name="TimeoutPolicy catalog", exact=True).wait_for()


@pytest.mark.parametrize("width", [390, 640])
async def test_results_are_inside_a_narrow_window(shop: Bridge, page: Opened, width: int) -> None:
    await page.page.set_viewport_size({"width": width, "height": 844})
    await page.go(shop.url)
    await _search(page, "storefront")
    box = await page.page.locator("#search-found").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
