"""The page follows what changes, keeps what a person has set, and says when it has lost the bridge."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.web.bridges import LATE, SHOP, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CART = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
ADMIN = "gateway.networking.k8s.io/HTTPRoute/shop/admin"
POSTS = "gateway.networking.k8s.io/HTTPRoute/blog/posts"
PALETTE = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: late, namespace: blog}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: posts}]
  overrides: {palette: dusk}
"""
Serve = Callable[[Path], Bridge]


async def test_change_is_drawn_without_moving_the_picture(changing: Bridge, page: Opened) -> None:
    await page.go(f"{changing.url}#object={ADMIN}")
    await page.page.click("#zoom-in")
    await page.page.focus("#graph")
    await page.page.keyboard.press("ArrowLeft")
    await page.until(f"policyBridge.graph.position('{ADMIN}')")
    before, view = await page.position(ADMIN), await page.view()
    (changing.folder / "late.yaml").write_text(LATE)
    await page.until(f"policyBridge.graph.position('example.com/ColorPolicy/shop/late\\n@{ADMIN}')")
    assert (await page.view())["zoom"] == view["zoom"]
    assert before is not None
    await page.shows("#details", "shop/late")  # the effective policies of the selected object are requested again
    (changing.folder / "late.yaml").unlink()
    await page.until(f"!policyBridge.graph.position('example.com/ColorPolicy/shop/late\\n@{ADMIN}')")
    assert (await page.view())["pan"] == pytest.approx(view["pan"])


async def test_changes_elsewhere_close_nothing_and_keep_the_focus(changing: Bridge, page: Opened) -> None:
    await page.go(f"{changing.url}#object={CART}%23checkout")
    await page.page.locator("#details summary", has_text="Why").first.click()
    assert await page.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    (changing.folder / "late.yaml").write_text(LATE)
    await page.until(f"policyBridge.graph.position('example.com/ColorPolicy/shop/late\\n@{ADMIN}')")
    await page.page.wait_for_timeout(1_000)  # the details are queried again
    assert await page.page.locator("#details .why").first.get_attribute("open") is not None
    assert await page.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    # A change of what is shown keeps what is open too.
    (changing.folder / "late.yaml").write_text(LATE.replace("name: admin", "name: cart"))
    await page.shows("#details", "shop/late")
    assert await page.page.locator("#details .why").first.get_attribute("open") is not None
    assert await page.page.evaluate("document.activeElement.tagName") == "SUMMARY"


async def test_a_changed_value_is_shown_where_the_picture_stays_as_it_is(changing: Bridge, page: Opened) -> None:
    (changing.folder / "late.yaml").write_text(PALETTE)
    await page.go(f"{changing.url}#object={POSTS}")
    await page.shows("#details", "dusk")
    (changing.folder / "late.yaml").write_text(PALETTE.replace("dusk", "dawn"))
    await page.shows("#details", "dawn", patience=30)
    # So does the answer to a request.
    await page.page.get_by_role("tab", name="Try a request").click()
    await page.page.fill("#request-host", "https://blog.example.com/posts")
    await page.page.press("#request-host", "Enter")
    await page.shows("#request-answer", "dawn", patience=30)
    (changing.folder / "late.yaml").write_text(PALETTE)
    await page.shows("#request-answer", "dusk", patience=30)


async def test_request_is_asked_again_when_everything_is_loaded_again(changing: Bridge, page: Opened) -> None:
    everything = 'event: topology\ndata: {"revision": "other-1", "reload": true}\n\n'  # after each reconnect
    await page.page.route("**/api/stream*", lambda it: it.fulfill(content_type="text/event-stream", body=everything))
    (changing.folder / "late.yaml").write_text(PALETTE)
    await page.go(f"{changing.url}#tab=request&r.host=blog.example.com&r.path=/posts")
    await page.shows("#request-answer", "dusk")
    (changing.folder / "late.yaml").write_text(PALETTE.replace("dusk", "dawn"))
    await page.shows("#request-answer", "dawn")


async def test_open_yaml_of_an_object_follows_changes_of_fields_that_nothing_else_shows(
    changing: Bridge, page: Opened
) -> None:
    palette = PALETTE.replace("name: late", "name: shown")  # another test's may just be deleted
    (changing.folder / "late.yaml").write_text(palette)
    await page.go(f"{changing.url}#object=example.com/ColorPolicy/blog/shown")
    await page.page.locator("summary", has_text="Object as YAML").click()
    await page.shows("#object-yaml pre", "palette: dusk")
    labeled = palette.replace("namespace: blog", "namespace: blog, labels: {team: news}")
    (changing.folder / "late.yaml").write_text(labeled)
    await page.shows("#object-yaml pre", "team: news", patience=30)


async def test_file_with_an_error_is_reported_while_it_has_one(changing: Bridge, page: Opened) -> None:
    await page.go(changing.url)
    (changing.folder / "late.yaml").write_text("kind: [")
    await page.shows("#banner", "late.yaml:2: document 1: invalid YAML")
    (changing.folder / "late.yaml").write_text(LATE)
    await page.until("document.getElementById('banner').hidden")


async def test_opa_that_is_not_ready_is_reported(page: Opened, tmp_path: Path) -> None:
    page.excuse("503", "ERR_")
    bridge = Bridge(SHOP, tmp_path / "log", "--opa", "http://127.0.0.1:9")  # a closed port
    bridge.start(says="running ")
    try:
        await page.page.goto(bridge.url)
        await page.shows("#state", "not ready")
        await page.shows("#banner", "the initial sync of OPA is incomplete")
        await page.shows("#empty", "There are no objects yet.")
    finally:
        bridge.stop()


async def test_page_reconnects_after_a_restart_and_shows_it(serve: Serve, page: Opened) -> None:
    page.excuse("Failed to load resource", "ERR_")
    bridge = serve(SHOP)
    await page.go(bridge.url)
    bridge.stop()
    await page.shows("#state", "reconnecting")
    await page.shows("#banner", "The connection to the bridge is lost")
    await page.shows("#announcement", "is lost")
    (bridge.folder / "late.yaml").write_text(LATE)
    bridge.start()
    await page.shows("#announcement", "Connected again")
    await page.shows("#state", "live")
    await page.until(f"policyBridge.graph.position('example.com/ColorPolicy/shop/late\\n@{ADMIN}')")
    assert await page.page.locator("#banner").is_hidden()
