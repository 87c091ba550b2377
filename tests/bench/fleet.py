"""Measure a hub: views of one Gateway among 20, fetched by OPAs that look answers up, and by clients that only poll."""

import asyncio
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import aiohttp
import msgspec

from bridge.opa.bundle import edge_config, view_path
from bridge.opa.credentials import kept_credentials
from bridge.opa.process import free_port
from tests.bench.load import GATEWAY_API, POLICY_KIND, Load, accent, options_for, route_policy, rule_key, write
from tests.bench.opa import ask, plain_opa, timed
from tests.bench.table import Figures
from tests.eventually import eventually
from tests.processes import BridgeProcess, Program

OPAS, CLIENTS, QUIET = 20, 2_000, 6.0  # and seconds after which a change is everywhere
ANSWERS, ONE, ALL = "infra.gateway-1.effective", "infra.gateway-1", "all"
PUBLISH = ("--publish=Gateway/infra/gateway-1=effective", "--publish=Gateway/infra/gateway-1", "--publish=all")


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures at a tenth of the routes, of a route at a listener whose policies override nothing."""
    load, hub, policy = Load(routes // 10), f"127.0.0.1:{free_port()}", folder / "manifests" / "policy.yaml"
    route = next(number for number in range(1, load.routes, 80) if number not in load.routes_with_policy())
    request = {"gateway": f"{GATEWAY_API}/Gateway/infra/gateway-1", "host": f"route-{route}.l0.g1.example.com"}
    target = {"targets": [rule_key(route, "first")], "policyKind": POLICY_KIND}
    credentials = kept_credentials(folder / "hub")
    options = [*options_for(folder, load.objects()), f"--publish-listen={hub}", *PUBLISH]
    options += [f"--publish-credentials={credentials.folder}"]
    async with (
        BridgeProcess(folder, options, program=program) as bridge,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        AsyncExitStack() as stack,
    ):
        published = [await bridge.logged("view published", count) for count in (1, 2, 3)]
        views = {view["view"]: view for view in published}

        async def opa(number: int) -> str:
            config, place = edge_config(f"http://{hub}", credentials.trust, ANSWERS), folder / f"opa-{number}"
            place.mkdir(exist_ok=True)
            (place / "opa.json").write_bytes(msgspec.json.encode({**config, "persistence_directory": str(place)}))
            url, _ = await stack.enter_async_context(plain_opa(place, session, f"--config-file={place / 'opa.json'}"))
            await eventually(lambda: session.get(f"{url}/health?bundles"), lambda answer: answer.ok)
            return url

        async def poll(etag: str = "") -> None:
            while True:
                headers = {"Authorization": f"Bearer {credentials.token}", "If-None-Match": etag, "Prefer": "wait=30"}
                async with session.get(f"http://{hub}{view_path(ANSWERS)}", headers=headers) as answer:
                    await answer.read()
                    etag = answer.headers["ETag"]

        async def change(color: int, urls: list[str]) -> tuple[float, float]:
            before, began = bridge.processor_times()["bridge"], time.monotonic()
            write(policy, [route_policy(route, color)])
            for url in urls:
                await eventually(partial(ask, session, url, "effective", target), lambda it: accent(color) in str(it))
            took = time.monotonic() - began
            await asyncio.sleep(QUIET)
            return took, bridge.processor_times()["bridge"] - before

        urls = [await opa(0)]
        await change(1, urls)
        (one, cpu), memory = await change(2, urls), bridge.memories()["bridge"]
        urls += [await opa(number) for number in range(1, OPAS)]
        clients = asyncio.gather(*(poll() for _ in range(CLIENTS)))
        await asyncio.sleep(QUIET)
        every, cpu_of_all = await change(4, urls)
        assert not clients.done()  # one that failed ends all
        memory = bridge.memories()["bridge"] - memory
        clients.cancel()
        await asyncio.gather(clients, return_exceptions=True)
        began = time.monotonic()
        await opa(0)  # another one, with the bundle that the first has kept
        return {
            "fleet_restart": time.monotonic() - began,
            "fleet_change": every,
            "fleet_ratio": every / one,
            "fleet_cpu": (cpu_of_all - cpu) / (OPAS + CLIENTS - 1) * 1000,
            "fleet_memory": memory * 1024 / (OPAS + CLIENTS - 1),
            "fleet_share": views[ONE]["objects"] / views[ALL]["objects"] * 100,
            "fleet_effective": await timed(session, urls[0], "effective", target),
            "fleet_request": await timed(session, urls[0], "request", {**request, "path": "/api"}),
            "fleet_answers": views[ANSWERS]["bytes"] / views[ALL]["bytes"] * 100,
        }
