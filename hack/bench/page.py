"""Measure the web page in Chromium: the first picture, and the display of one change."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from playwright.async_api import Browser, async_playwright

from hack.bench.figures import figure, progress, spread_of, step
from hack.bench.load import Load, namespace_of, route_policy
from hack.web import chromium
from tests.web.bridges import Bridge
from tests.web.page import LAUNCH, Opened

LOADS = 5
CHANGES = 10
PATIENCE = 900.0  # seconds for the initial sync and the bridge's first picture
WHERE = "Chromium, bridge run on a folder"


async def measure(routes: int) -> None:
    """Measure in a browser of this machine; skip this if it has none."""
    executable = chromium.find()
    if executable is None:
        progress(chromium.HOW)
        return
    with tempfile.TemporaryDirectory() as folder:
        manifests = Path(folder) / "manifests"
        manifests.mkdir()
        load = Load(routes)
        with (manifests / "all.yaml").open("w") as file:
            file.writelines(f"---\n{json.dumps(obj)}\n" for obj in load.objects())
        bridge = Bridge(manifests, Path(folder) / "log", patience=PATIENCE)
        with step("the bridge is synced"):
            await asyncio.to_thread(bridge.start)
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=executable, args=LAUNCH)
                await _measured(browser, bridge, load)
                await browser.close()
        finally:
            bridge.stop()


async def _measured(browser: Browser, bridge: Bridge, load: Load) -> None:
    about: dict[str, Any] = {"routes": load.routes, "where": WHERE}
    page = await _page(browser)
    first = await _first_picture(page, bridge.url)
    with step("the bridge has drawn everything"):
        await _whole(page)
    # Includes the first picture of the bridge, which sends its top before it computes the rest.
    figure("page_first_picture_of_first_look", first, "ms", **about)
    times: list[float] = []
    cpu: list[float] = []
    for _ in range(LOADS):
        page = await _page(browser)
        session = await page.page.context.new_cdp_session(page.page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        times.append(await _first_picture(page, bridge.url))
        values = {
            metric["name"]: metric["value"] for metric in (await session.send("Performance.getMetrics"))["metrics"]
        }
        cpu.append(values["TaskDuration"] * 1e3)
    # The processor time of the page's main thread, which depends less on the load.
    figure("page_first_picture_cpu", sorted(cpu)[len(cpu) // 2], "ms", **about, **spread_of(cpu))
    figure("page_first_picture", sorted(times)[len(times) // 2], "ms", **about, **spread_of(times))
    number = load.routes_with_policy()[0]
    route = f"gateway.networking.k8s.io/HTTPRoute/{namespace_of(number)}/route-{number}"
    await page.go(f"{bridge.url}#object={route}")
    await page.until(f"policyBridge.graph.position({route!r})")
    drawn, seen = [], []
    for change in range(CHANGES):
        before = await page.page.evaluate("policyBridge.drawn.received")
        began = time.perf_counter()
        _write(bridge.folder, number, change)
        await page.until(
            f"policyBridge.drawn.received > {before} && policyBridge.drawn.at > policyBridge.drawn.received"
        )
        seen.append((time.perf_counter() - began) * 1e3)
        values = await page.page.evaluate("policyBridge.drawn")
        drawn.append(values["at"] - values["received"])
        await asyncio.sleep(1.0)
    figure("page_change_drawn", sorted(drawn)[len(drawn) // 2], "ms", **about, **spread_of(drawn))
    figure("page_change_seen", sorted(seen)[len(seen) // 2], "ms", **about, **spread_of(seen))


async def _page(browser: Browser) -> Opened:
    context = await browser.new_context(viewport={"width": 1600, "height": 950})
    return Opened(await context.new_page())


async def _first_picture(page: Opened, url: str) -> float:
    """Return the milliseconds from the navigation until the page marks the picture as complete."""
    await page.go(url)
    await page.until("performance.getEntriesByName('first-picture').length > 0")
    found: float = await page.page.evaluate("performance.getEntriesByName('first-picture')[0].startTime")
    return found


async def _whole(page: Opened) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        text = await page.page.evaluate("fetch('api/topology?limit=1').then((answer) => answer.text())")
        if msgspec.json.decode(text)["whole"]:
            return
        await asyncio.sleep(1.0)


def _write(folder: Path, number: int, change: int) -> None:
    """Write one more policy on the route, or change its spec."""
    policy = route_policy(number, change)
    policy["metadata"]["name"] = f"late-{change}"
    (folder / f"late-{change}.yaml").write_text(json.dumps(policy))
