"""A large cluster: its top is drawn, the rest as users open, find or name it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.load import Load
from tests.web.bridges import Bridge
from tests.web.page import CHOSEN_IN_SIGHT, Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

ROUTES = 2_100  # more than 6,000 nodes
# Lines of the longest text in a column of the tables of fields.
LINES = """(column) => {
  const cells = [...document.querySelectorAll(`#details .fields td:nth-child(${column})`)];
  const range = document.createRange();
  return Math.max(...cells.map((cell) => {
    const bottoms = [];
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      range.selectNodeContents(texts.currentNode);
      const boxes = [...range.getClientRects()].filter(({ width }) => width > 0);
      bottoms.push(...boxes.map(({ bottom }) => Math.round(bottom)));
    }
    return new Set(bottoms).size;
  }));
}"""
PROBLEMS_BY_NAMESPACE = """() => [
  document.querySelector('#details h3').innerText,
  [...document.querySelectorAll('.namespaces td:last-child')].map((cell) => cell.innerText),
]"""
ROUTE = "gateway.networking.k8s.io/HTTPRoute/team-7/route-1507"


async def test_large_picture_is_drawn_in_parts(serve: Callable[[Path], Bridge], page: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    with (folder / "all.yaml").open("w") as file:
        file.writelines(f"---\n{json.dumps(obj)}\n" for obj in Load(ROUTES).objects())
    bridge = serve(folder)
    await page.go(bridge.url)
    await page.shows("#list-rows", "gateway-0")  # so many nodes are a list at first
    heading, problems = await page.page.evaluate(PROBLEMS_BY_NAMESPACE)
    assert heading != "Computing outcomes …" or set(problems) == {"…"}  # 0 would say that there are none
    await page.shows("#list-more", "Show 200 more of")
    await page.page.get_by_role("button", name="Picture").click()
    await page.shows("#state", "live", patience=600)  # the bridge has drawn everything
    assert "…" not in (await page.page.evaluate(PROBLEMS_BY_NAMESPACE))[1]
    assert (await page.view())["nodes"] < 400
    assert await page.page.evaluate("policyBridge.topology.nodes.size") > 6_000
    assert await page.position(ROUTE) is None
    everything = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('api/topology')).length"
    assert await page.page.evaluate(everything) == 1  # changes while it was loaded are part of it

    row = page.page.get_by_role("treeitem", name="Gateway · infra, gateway-3", exact=True)
    await row.locator(".twist").click()
    listener = page.page.get_by_role("treeitem", name="Listener, listener-1").first
    await listener.locator(".twist").click()
    await page.until("[...document.querySelectorAll('.row')].some((row) => row.textContent.includes('HTTPRoute'))")
    # What was opened is in view.
    opened = await page.position("gateway.networking.k8s.io/Gateway/infra/gateway-3#listener-1")
    graph = await page.page.locator("#graph").bounding_box()
    assert opened
    assert graph
    assert graph["x"] < opened["x"] < graph["x"] + graph["width"]
    assert graph["y"] < opened["y"] < graph["y"] + graph["height"]

    await page.page.fill("#search-text", "route-1507")
    await page.until(f"policyBridge.graph.position({ROUTE!r})")

    await page.page.goto("about:blank")
    await page.go(f"{bridge.url}#view=picture&object={ROUTE}")
    await page.until(f"policyBridge.graph.position({ROUTE!r})")
    await page.shows("#details h3", "route-1507")
    await page.shows("#details", "Same for #[1] and #first")
    # Its row is in sight, although the branches above it are closed.
    await page.until(CHOSEN_IN_SIGHT)
    await page.page.set_viewport_size({"width": 1280, "height": 720})  # the details have 346 pixels
    assert [await page.page.evaluate(LINES, column) for column in (2, 3)] == [1, 1]
