"""A page that stays open for a day: updates of the bridge, other tokens, sleep, and thousands of changes."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.proxy import Proxy
from tests.web.bridges import ROOT, SHOP, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

ADMIN = "gateway.networking.k8s.io/HTTPRoute/shop/admin"
TOKENS = ("the-token-of-the-morning-0123456789", "the-token-of-the-evening-0123456789")
WARM = 10  # rounds after which caches and fonts are there
HOUR = 3_600_000  # milliseconds
SILENT = 41_000  # milliseconds after which the page takes a connection for dead
POLICY = """
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {{name: {name}, namespace: shop}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: admin}}]
  defaults: {{theme: dusk}}
---
"""
Serve = Callable[[Path], Bridge]


def _drawn(name: str) -> str:
    return f"policyBridge.graph.position('example.com/ColorPolicy/shop/{name}\\n@{ADMIN}')"


async def test_page_asks_to_be_reloaded_after_an_update_of_the_bridge(
    serve: Serve, page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.excuse("Failed to load resource", "ERR_")
    bridge = serve(SHOP)
    await page.go(bridge.url)
    await page.shows("#state", "live")
    bridge.stop()
    bridge.start()
    await page.shows("#announcement", "Connected again")
    await page.page.locator("#banner").wait_for(state="hidden")  # the same version

    bridge.stop()
    for name in ("bridge", "rego", "deploy"):
        shutil.copytree(ROOT / name, tmp_path / "next" / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "next" / "bridge" / "web" / "static" / "outcomes.js").open("a") as file:
        file.write("// of the next version\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "next"))
    bridge.start()
    await page.shows("#banner", "The bridge was updated.")
    await page.shows("#state", "live")
    await page.page.get_by_role("button", name="Reload the page").click()
    await page.until("globalThis.policyBridge?.drawn.shown > 0")
    await page.shows("#state", "live")
    assert await page.page.locator("#banner").is_hidden()


async def test_page_asks_for_the_new_token_and_continues(page: Opened, tmp_path: Path) -> None:
    page.excuse("401", "ERR_")
    token = tmp_path / "token"
    token.write_text(TOKENS[0])
    bridge = Bridge(SHOP, tmp_path / "log", "--web-token-file", str(token))
    bridge.start()
    try:
        await page.page.goto(bridge.url)
        await _log_in(page, TOKENS[0])
        token.write_text(TOKENS[1])
        # Not by the mouse: the stream may have met the old token's end, and then the dialog is over the row already.
        await page.page.get_by_role("treeitem", name="Rule, checkout").evaluate("row => row.click()")
        await _log_in(page, TOKENS[1])
        await page.page.get_by_role("treeitem", name="HTTPRoute · shop, admin").click()
        await page.shows("#details", "Effective policies")
        await page.page.goto("about:blank")  # an open page would log what a bridge that stops answers
    finally:
        bridge.stop()


async def _log_in(page: Opened, token: str) -> None:
    await page.shows("#login", "This bridge requires a token")
    await page.page.fill("#login-token", token)
    await page.page.get_by_role("button", name="Log in").click()
    await page.shows("#counts", "39 nodes")
    await page.shows("#state", "live")


async def test_connection_that_died_in_sleep_is_replaced(changing: Bridge, page: Opened) -> None:
    page.excuse("Failed to load resource", "ERR_")
    async with Proxy(changing.url) as proxy:
        await page.page.clock.install()
        await page.go(proxy.url.replace("https:", "http:"))
        await page.shows("#state", "live")
        proxy.freeze()  # nothing arrives anymore, and no connection ends
        (changing.folder / "late.yaml").write_text(POLICY.format(name="late"))
        await page.page.clock.run_for(10_000)
        await page.shows("#state", "live")
        await page.page.clock.fast_forward(HOUR)  # the laptop sleeps
        # The browser may use other dead connections of its pool first.
        for _ in range(8):
            await page.page.clock.run_for(SILENT)
            if await page.page.evaluate(_drawn("late")):
                break
        await page.until(_drawn("late"))
        await page.shows("#state", "live")


@pytest.mark.long
async def test_connection_without_changes_stays(changing: Bridge, page: Opened) -> None:
    """Heartbeats alone show that the bridge is there."""
    await page.go(changing.url)
    await page.shows("#state", "live")
    await page.page.evaluate("""() => {
      globalThis.lost = 0;
      new MutationObserver(() => { globalThis.lost += document.getElementById('state').className !== 'state good'; })
        .observe(document.getElementById('state'), { childList: true });
    }""")
    await page.page.wait_for_timeout(45_000)
    assert await page.page.evaluate("globalThis.lost") == 0


@pytest.mark.parametrize(
    ("rounds", "bytes_more"), [(15, None), pytest.param(300, 4_000_000, marks=pytest.mark.long)], ids=["short", "long"]
)
async def test_many_changes_leave_nothing_behind(
    changing: Bridge, page: Opened, rounds: int, bytes_more: int | None
) -> None:
    """Each round replaces 20 policies by 20 of other names; the page has two of its panels open."""
    await page.go(f"{changing.url}#object={ADMIN}")
    for number in range(WARM):
        await _replace(changing, page, number)
    before = await _sizes(page)
    for number in range(WARM, WARM + rounds):
        await _replace(changing, page, number)
    after = await _sizes(page)
    assert after["Nodes"] < before["Nodes"] * 1.2, (before, after)
    assert after["JSEventListeners"] < before["JSEventListeners"] * 1.2, (before, after)
    assert after["Documents"] <= before["Documents"], (before, after)
    if bytes_more:
        assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] + bytes_more, (before, after)


async def _replace(bridge: Bridge, page: Opened, number: int) -> None:
    names = [f"late-{number}-{each}" for each in range(20)]
    (bridge.folder / "late.yaml").write_text("".join(POLICY.format(name=name) for name in names))
    await page.until(f"policyBridge.topology.policy('example.com/ColorPolicy/shop/{names[-1]}')")


async def _sizes(page: Opened) -> dict[str, float]:
    """Numbers of nodes, listeners and bytes that the page keeps, once its garbage is collected: the least of some."""
    session = await page.page.context.new_cdp_session(page.page)
    await session.send("Performance.enable")
    await page.shows("#details", "late-")
    found: dict[str, float] = {}
    for _ in range(5):
        await page.page.wait_for_timeout(400)  # the details may just be queried again
        await session.send("HeapProfiler.collectGarbage")
        metrics: list[dict[str, Any]] = (await session.send("Performance.getMetrics"))["metrics"]
        for one in metrics:
            found[one["name"]] = min(one["value"], found.get(one["name"], one["value"]))
    await session.detach()
    return found
