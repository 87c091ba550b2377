"""The details answer the question on their first screen, say one sentence, and show errors at their field."""

import pytest

from tests.web.bridges import LATE, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

POSTS = "gateway.networking.k8s.io/HTTPRoute/blog/posts"
NESTED = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: late, namespace: blog}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: posts}]
  overrides: {palettes: [{name: dusk, hours: [18, 19]}, {name: dawn}]}
"""
WIDTH = "document.querySelector('#details {}')?.getBoundingClientRect().width"
FIRST_ROW = "document.querySelector('#details .fields tbody tr:nth-child(2)').getBoundingClientRect().bottom"


async def test_fields_of_all_kinds_are_one_table_and_equal_results_are_shown_once(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=HTTPRoute/shop/cart")
    await page.shows("#details .path .same", "Same for #[2] and #view")
    assert await page.page.locator("#details .explained .path").count() == 4  # those and #checkout, by two Gateways
    titles = await page.page.locator("#details .fields thead th").all_inner_texts()
    assert titles[:3] == ["Field", "Value", "From"]
    assert await page.page.locator("#details .fields tr.kind").first.inner_text() == "ColorPolicy"
    # What acts at a backend is not among its own fields; what it does not have to do with is folded, or not there.
    await page.shows("#details .rest summary", "Attached here (1)")
    assert "TimeoutPolicy" not in " ".join(await page.page.locator("#details .explained .path").all_inner_texts())
    await page.go(f"{shop.url}#object={POSTS}")
    await page.shows("#details .rest summary", "Attached here (1)")
    await page.shows("#details .passed-on", "Goes to Service/blog/posts")
    assert "TimeoutPolicy" not in await page.page.inner_text("#details")


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1280, 720), (390, 844)])
async def test_first_field_is_on_the_first_screen(shop: Bridge, page: Opened, width: int, height: int) -> None:
    await page.page.set_viewport_size({"width": width, "height": height})
    await page.go(f"{shop.url}#object={POSTS}")
    await page.shows("#details .fields", "theme")
    assert await page.page.evaluate(FIRST_ROW) < height


async def test_a_nested_value_is_yaml_in_the_full_width(changing: Bridge, page: Opened) -> None:
    (changing.folder / "late.yaml").write_text(NESTED)
    await page.go(f"{changing.url}#object={POSTS}")
    await page.shows("#details .fields .nested pre", "- name: dawn")
    await page.shows("#details .fields .size", "2 items")
    await page.until(f"{WIDTH.format('.fields .nested pre')} > 0.95 * {WIDTH.format('.fields')}")


async def test_the_list_shows_the_age_and_sorts_by_it(changing: Bridge, page: Opened) -> None:
    aged = NESTED.replace("namespace: blog", 'namespace: blog, creationTimestamp: "2026-01-01T00:00:00Z"')
    (changing.folder / "late.yaml").write_text(aged)
    await page.go(f"{changing.url}#view=list&sort=-age")
    await page.shows("#list-rows tr:first-child .name", "late")
    age = await page.page.locator("#list-rows tr:first-child td").last.inner_text()
    assert age.endswith("d")
    assert int(age[:-1]) > 300


async def test_a_link_names_an_object_by_kind_namespace_and_name(shop: Bridge, page: Opened) -> None:
    for address, heading in (
        ("object=HTTPRoute/shop/cart", "cart"),
        ("object=httproute/shop/cart&section=checkout", "cart#checkout"),
        ("object=HTTPRoute/shop/cart%23view", "cart#view"),
        ("object=ColorPolicy/infra/brand", "brand"),
        ("object=GatewayClass/example", "example"),
    ):
        await page.page.goto("about:blank")
        await page.go(f"{shop.url}#{address}")
        await page.shows("#details h3", heading)
        await page.page.locator("#details h4").first.wait_for()
    await page.go(f"{shop.url}#object=HTTPRoute/shop/nowhere")
    await page.shows("#details", "Nothing matches this link.")


async def test_one_sentence_is_announced_and_the_details_are_no_live_region(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=HTTPRoute/shop/cart&section=checkout")
    await page.shows("#announcement", "Details of HTTPRoute/shop/cart#checkout: 5 fields in effect.")
    assert await page.page.locator("main [aria-live], .panel [aria-live]").count() == 0
    await page.page.get_by_role("tab", name="Try a request").click()
    await page.page.fill("#request-host", "shop.example.com")
    await page.page.press("#request-host", "Enter")
    await page.shows("#announcement", "Served by")


async def test_names_of_buttons_have_no_blanks_inside(shop: Bridge, page: Opened) -> None:
    await page.go(f"{shop.url}#object=HTTPRoute/shop/cart&section=checkout")
    await page.shows("#details .fields", "colors.accent")
    tree = await page.page.locator("#details").aria_snapshot()
    assert 'button "Gateway/infra/public"' in tree
    assert 'button "infra/accessibility"' in tree


async def test_a_route_shows_the_policies_of_the_backends_to_which_it_sends_requests(
    shop: Bridge, page: Opened
) -> None:
    await page.go(f"{shop.url}#object=HTTPRoute/shop/storefront&section=pages")
    await page.shows("#details .passed-on", "Goes to Service/shop/catalog")
    await page.shows("#details .passed-on .fields", "request 5s shop/catalog")
    await page.go(f"{shop.url}#object=HTTPRoute/shop/storefront")
    await page.shows("#details .passed-on", "Service/shop/assets")
    assert "5s" in await page.page.inner_text("#details .passed-on")


async def test_an_error_is_shown_at_its_field(shop: Bridge, page: Opened) -> None:
    page.excuse("400", "404")
    await page.go(f"{shop.url}#tab=request&r.host=shop.example.com&r.path=cart")
    await page.shows("#request-form .error", "path must")
    invalid = "[...document.querySelectorAll('[aria-invalid=true]')].map(({ id }) => id).join()"
    assert await page.page.evaluate(invalid) == "request-path"
    await page.page.fill("#request-path", "/cart")
    await page.page.press("#request-path", "Enter")
    await page.shows("#request-answer .verdict", "Served by")
    assert await page.page.evaluate(invalid) == ""
    await page.see_what_would_change(delete="ColorPolicy/infra/nowhere")
    await page.shows("#changes-form .error", "ColorPolicy/infra/nowhere is not found")
    assert await page.page.evaluate(invalid) == "changes-delete"


async def test_an_outdated_preview_says_so(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    await page.shows("#state", "live")  # outcomes that are known later are changes, too
    await page.see_what_would_change(text="{apiVersion: v1, kind: Namespace, metadata: {name: unused}}")
    await page.shows("#changes-answer .verdict.changes", "No effective policy changes")
    (changing.folder / "late.yaml").write_text(LATE)
    await page.shows("#changes-answer .outdated", "Objects have changed since this answer")
    assert await page.page.locator("#changes-answer .verdict.changes").count() == 0
    await page.page.get_by_role("button", name="Compare again").click()
    await page.shows("#changes-answer .verdict.changes", "No effective policy changes")
    assert await page.page.locator("#changes-answer .outdated").count() == 0


async def test_a_preview_of_nothing_is_an_error(shop: Bridge, page: Opened) -> None:
    page.excuse("400")
    await page.go(shop.url)
    await page.see_what_would_change(text="# apply this later")
    await page.shows("#changes-form .error", "nothing to analyze")


async def test_a_preview_is_green_only_if_nothing_changes(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    background = "getComputedStyle(document.querySelector('#changes-answer .verdict')).backgroundColor"
    await page.see_what_would_change(delete="ColorPolicy/infra/brand")
    await page.shows("#changes-answer .verdict.changes", "Effective policies change")
    neutral = await page.page.evaluate(background)
    await page.see_what_would_change(text="{apiVersion: v1, kind: Namespace, metadata: {name: unused}}")
    await page.shows("#changes-answer .verdict", "No effective policy changes")
    red, green, blue = await page.page.evaluate(f"{neutral!r}.match(/[0-9.]+/g).slice(0, 3).map(Number)")
    assert max(red, green, blue) - min(red, green, blue) < 12


async def test_a_route_and_its_rule_name_the_policies_that_act_at_their_backends(shop: Bridge, page: Opened) -> None:
    for section in ("", "&section=pages"):
        await page.page.goto("about:blank")
        await page.go(f"{shop.url}#object=HTTPRoute/shop/storefront{section}")
        line = "Policies also act at its backends: Service/shop/catalog#http (TimeoutPolicy)"
        await page.shows("#details .explained .same", line)
        assert "1s" not in await page.page.inner_text("#details .passed-on")  # of a port that the rule does not use
    await page.page.locator("#details .explained .same").get_by_role("button", name="Service/shop/catalog#http").click()
    await page.shows("#details h3", "catalog#http")
    await page.go(f"{shop.url}#object=HTTPRoute/shop/storefront&section=assets")
    await page.shows("#details h3", "storefront#assets")
    await page.shows("#details .fields", "theme")
    await page.shows("#details .passed-on", "Goes to Service/shop/assets")
    assert await page.page.locator("#details .passed-on .fields").count() == 0


async def test_a_target_at_which_only_overridden_policies_change_is_counted_apart(shop: Bridge, page: Opened) -> None:
    await page.go(shop.url)
    await page.see_what_would_change(delete="TimeoutPolicy/shop/catalog")
    await page.shows(
        "#changes-answer .verdict",
        "Effective policies change at 2 targets; at 1 other, only overridden policies change",
    )
    await page.shows("#changes-answer summary", "Service/shop/catalog (3 targets)")
    await page.shows("#changes-answer .group", "Receives requests from HTTPRoute/shop/admin, HTTPRoute/shop/storefront")
    last = page.page.locator("#changes-answer .difference").last
    text = " ".join((await last.inner_text()).split())
    assert "#metrics" in text
    assert "The same fields stay in effect. Only overridden policies change." in text
    assert "Before ○ Timeout shop/catalog overridden" in text
    assert "After ○ Timeout shop/catalog-again overridden" in text


async def test_a_sentence_counts_each_field_in_effect_once_and_names_the_outcome_of_a_policy(
    shop: Bridge, page: Opened
) -> None:
    for object_, sentence in (
        ("TimeoutPolicy/shop/catalog", "Details of TimeoutPolicy/shop/catalog: partly overridden."),
        ("Service/shop/catalog", "Details of Service/shop/catalog: 1 field in effect."),
        ("HTTPRoute/shop/storefront", "Details of HTTPRoute/shop/storefront: 5 fields in effect."),
    ):
        await page.page.goto("about:blank")
        await page.go(f"{shop.url}#object={object_}")
        await page.shows("#announcement", sentence)


async def test_a_policy_that_is_not_accepted_is_no_outcome_of_the_object_that_it_names(
    shop: Bridge, page: Opened
) -> None:
    await page.go(f"{shop.url}#view=list&find=storefront")
    row = page.page.locator("#list-rows tr[title='HTTPRoute/shop/storefront']")
    text = " ".join((await row.inner_text()).split())
    assert "1 policy ignored◐ , partly overridden" in text
    assert "TargetNotFound" not in text
