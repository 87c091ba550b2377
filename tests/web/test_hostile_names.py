"""What manifests say is text: names and values with markup, and names as long as may be, do no harm."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.web.bridges import SHOP, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

MARKUP = '"><img src=x onerror="globalThis.harmed=1"><script>globalThis.harmed=1</script>'
RULE = '<b onclick=harmed()>"><img src=x onerror="globalThis.harmed=1">'  # names of objects are not taken with markup
LONG = ("a" * 62 + ".") * 4 + "b"
NAMES = ["constructor", LONG, "${harmed}", "__proto__", "\u202eesrever"]


def _objects() -> list[object]:
    group = "gateway.networking.k8s.io"
    found: list[object] = []
    for number, name in enumerate(NAMES):
        found.extend(
            (
                {
                    "apiVersion": f"{group}/v1",
                    "kind": "HTTPRoute",
                    "metadata": {"name": name, "namespace": "shop"},
                    "spec": {
                        "parentRefs": [{"name": "public", "namespace": "infra"}],
                        "hostnames": [f"h{number}.example.com"],
                        "rules": [{"name": RULE, "backendRefs": [{"name": "cart", "port": 80}]}],
                    },
                },
                {
                    "apiVersion": "example.com/v1",
                    "kind": "ColorPolicy",
                    "metadata": {"name": name, "namespace": "shop"},
                    "spec": {
                        "targetRefs": [{"group": group, "kind": "HTTPRoute", "name": name}],
                        "defaults": {"theme": MARKUP, "colors": {MARKUP: MARKUP, "__proto__": {"text": "black"}}},
                    },
                },
            )
        )
    return found


async def test_markup_is_shown_as_text_everywhere(
    serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path
) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for file in SHOP.glob("*.yaml"):
        (folder / file.name).write_text(file.read_text())
    (folder / "hostile.yaml").write_text("\n---\n".join(json.dumps(obj) for obj in _objects()))
    bridge = serve(folder)
    await page.go(bridge.url)
    await page.page.fill("#search-text", "<b onclick")
    await page.until("document.querySelectorAll('#search-found [role=option]').length")
    shown = await page.page.locator("body").inner_text()
    assert "\ufffdesrever" in shown
    assert "\u202e" not in shown, "a direction override must not change how a name reads"
    labels = "[...document.querySelectorAll('[title], [aria-label]')].map((one) => one.title + one.ariaLabel).join()"
    assert "\u202e" not in await page.page.evaluate(labels)
    row = page.page.get_by_role("treeitem", name="Rule, <b onclick").first
    await row.click()
    await page.shows("#details h3", "<b onclick=harmed()>")
    await page.shows("#details .fields", MARKUP)
    await page.page.locator("#details .policy .link").first.click()
    await page.shows("#details", "Reaches")
    await page.page.get_by_role("tab", name="Try a request").click()
    await page.page.fill("#request-host", "h0.example.com")
    await page.page.get_by_role("button", name="Try it").click()
    await page.shows("#request-answer", MARKUP)
    await page.see_what_would_change(text=json.dumps(_objects()[1]).replace('"theme"', '"' + "x" * 3 + '"'))
    await page.shows("#changes-answer", MARKUP)
    await page.page.reload()
    await page.until("policyBridge.drawn.shown > 0")
    assert await page.page.evaluate("globalThis.harmed") is None
    assert (
        await page.page.locator("#outline img, #details img, #outline script, #details script, #details b").count() == 0
    )
    width = await page.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], "a long name must not make the page wider"
