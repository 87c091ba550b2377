"""`make soak`: a bridge with its OPA and webhook, tenants that change their objects, and a hostile tenant.

While the hostile tenant works, and a proxy breaks the API server's responses to the bridge, a well-behaved tenant must
get right answers in time. When all rest, OPA must equal the API server, and statuses a new computation. Figures are a
table on standard output, progress is on standard error.
"""

import argparse
import asyncio
import functools
import itertools
import random
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.process import free_port
from tests.bench.observed_statuses import session_of
from tests.cluster import apply_all, running_cluster
from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.plane import ControlPlane
from tests.controlplane.process import ServerProcess
from tests.eventually import eventually
from tests.faults.comparing import differences
from tests.figures import percentile, progress, short, table
from tests.integration.api_objects import apply_crd, crd
from tests.integration.proxy import BROKEN_CHUNKS, Proxy
from tests.processes import HERE, BridgeProcess, highest_memory, slowdown_of
from tests.properties.shown import MARKED, marks_shown, marks_wanted, said, shown
from tests.properties.small_world import GROUP as CHANGING_GROUP
from tests.properties.small_world import POLICY_KINDS, THING
from tests.scenarios.custom_resources import plural_of
from tests.soak.hostile_objects import GATEWAY_API, GROUP, HOSTILE
from tests.soak.tenants import ChangingTenants, Measured, WellBehaved

OBJECTS = Path(__file__).with_name("tenants.yaml")  # what the admin creates
VALUES = Path(__file__).parents[2] / "deploy" / "chart" / "values.yaml"
P99 = {"status": 2.0, "admission": 1.0}  # seconds
_IDLE_SHARE = 0.15  # of the time, before the hostile tenant comes
_IDLE_MOST = 60.0  # seconds
_BREAK = 20.0  # seconds between two breakages of the responses that the bridge reads
_REPORT = 20.0  # seconds between two lines of progress
_PATIENCE = 300.0  # seconds until admission decides, and until everything is equal at the end
_HOSTILE_COLLECTIONS = (
    f"/apis/{GATEWAY_API}/v1/namespaces/{HOSTILE}/httproutes",
    f"/apis/{GROUP}/v1/namespaces/{HOSTILE}/limitpolicies",
    f"/apis/example.com/v1/namespaces/{HOSTILE}/things",
)


class Failed(Exception):
    """The errors, a line each."""


def main() -> int:
    """Read the options and run. Return 1 if a check fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, help="of the changes (default: another one each time)")
    options = parser.parse_args()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="policy-bridge-soak-"))
    try:
        asyncio.run(soak(options.minutes, seed, folder))
    except KeyboardInterrupt:
        return 130
    except Failed as error:
        progress(f"{error}\nFAILED with seed {seed}; logs are in {folder}")
        return 1
    progress("all is right")
    return 0


async def soak(minutes: float, seed: int, folder: Path) -> None:
    """Run a soak with logs in `folder`, and print figures. Raises Failed."""
    progress(f"seed {seed}; logs are in {folder}")
    webhook = free_port()
    url = f"https://127.0.0.1:{webhook}/admission"
    settings = {"BRIDGE_WEBHOOK_URL": url, "BRIDGE_WEBHOOK_DECISION": "", "BRIDGE_TYPES": THING}
    async with (
        running_cluster(folder / "control-plane") as plane,
        session_of(plane) as session,
        _breaking_proxy(plane, random.Random(seed)) as proxy,
    ):
        kubeconfig = plane.write_kubeconfig(folder / "kubeconfig", plane.token, proxy.url)
        options = ["--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0"]
        options += ["--webhook-listen", f"127.0.0.1:{webhook}"]
        command = [sys.executable, "-m", "tests.soak.hostile", str(plane.kubeconfig), str(seed)]
        await _define(plane.api, url)
        async with BridgeProcess(folder, options, settings) as bridge:
            first = bridge.pids()
            decides = functools.partial(asyncio.to_thread, _is_admission_at_work, plane.api)
            await eventually(decides, patience=_PATIENCE, pause=0.5)
            tenant, changing = WellBehaved(session), ChangingTenants(plane.api, seed)
            await tenant.prepare()
            await asyncio.to_thread(changing.prepare)
            idle = min(minutes * 60 * _IDLE_SHARE, _IDLE_MOST)
            before = await _measure(tenant, changing, idle)
            progress("the hostile tenant comes")
            hostile = ServerProcess(command, folder / "hostile.log")
            try:
                beside = await _measure(tenant, changing, minutes * 60 - idle)
                wrong = [] if hostile.running else [f"the hostile tenant ended:\n{hostile.last_lines()}"]
                progress(f"answers to the hostile tenant: {hostile.last_lines(1)}")
            finally:
                await asyncio.to_thread(hostile.kill)
            _print(before, beside, changing)
            slowdown = max(map(slowdown_of, bridge.pids().values()), default=1.0)
            progress(f"the bridge and OPA waited for a processor: their work took {slowdown:.1f} times as long")
            wrong += [*_too_slow(beside, slowdown), *before.wrong[:10], *beside.wrong[:10], *_exceeded(bridge, first)]
            wrong += await _differences_at_rest(plane.api, bridge)
            wrong += [line for line in bridge.errors() if "Traceback" in line or '"level": "critical"' in line]
            if wrong:
                raise Failed("\n".join(wrong))


@asynccontextmanager
async def _breaking_proxy(plane: ControlPlane, chance: random.Random) -> AsyncIterator[Proxy]:
    """Yield a proxy to the API server that now and then breaks a chunk of all open responses, or cuts them."""
    trust = ssl.create_default_context(cadata=plane.certificate_authority.read_text())
    async with Proxy(plane.url, trust) as proxy:

        async def break_responses() -> None:
            faults = [*BROKEN_CHUNKS.values(), b""]
            for count in itertools.count(1):
                await asyncio.sleep(_BREAK)
                if fault := chance.choice(faults):
                    proxy.write(fault)
                else:
                    proxy.cut()
                if count % 10 == 0:
                    progress(f"{count} times all responses of the API server to the bridge were broken or cut")

        breaking = asyncio.create_task(break_responses())
        try:
            yield proxy
        finally:
            breaking.cancel()
            await asyncio.gather(breaking, return_exceptions=True)


async def _define(api: ApiServer, url: str) -> None:
    """Create the CRDs and the admin's objects, and the webhook configuration."""
    policies = {"RulePolicy": "Inherited", "BackendPolicy": "Inherited"}
    for kind in POLICY_KINDS:
        body = crd(plural_of(kind), kind, group=CHANGING_GROUP)
        body["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": policies.get(kind, "Direct")}
        await apply_crd(api, body)
    for kind, group in (("LimitPolicy", GROUP), ("Thing", "example.com")):
        await apply_crd(api, crd(plural_of(kind), kind, group=group))
    await asyncio.to_thread(apply_all, api, yaml.safe_load_all(OBJECTS.read_text()))
    resources = [f"--resource=*.{group}" for group in (GATEWAY_API, GROUP)]
    command = HERE.command("webhook-config", "--url", url, *resources)
    printed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    await asyncio.to_thread(apply_all, api, yaml.safe_load_all(printed.stdout))


def _is_admission_at_work(api: ApiServer) -> bool:
    """Return whether the Constraint denies what it should."""
    metadata = {"name": "probe", "labels": {"forbidden": "true"}}
    route = {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": {"rules": [{}]}}
    try:
        api.request("POST", f"/apis/{GATEWAY_API}/v1/namespaces/quiet/httproutes?dryRun=All", route)
    except ApiError as error:
        return "the label is forbidden" in str(error)
    return False


async def _measure(tenant: WellBehaved, changing: ChangingTenants, seconds: float) -> Measured:
    """Let the tenants work for some time, report now and then, and return what the well-behaved one got."""
    measured = tenant.measured = Measured()
    until = time.monotonic() + seconds
    works = [asyncio.create_task(work) for work in (tenant.run(), changing.run())]
    try:
        while (rest := until - time.monotonic()) > 0:
            done, _ = await asyncio.wait(works, timeout=min(_REPORT, rest), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            progress(str(measured))
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
    return measured


def _print(before: Measured, beside: Measured, changing: ChangingTenants) -> None:
    rows = [
        [f"{kind}, {when}", *(short(value) for value in (percentile(seconds, 0.5), measured.p99(kind), max(seconds)))]
        for when, measured in (("before", before), ("beside the hostile tenant", beside))
        for kind, seconds in measured.seconds.items()
        if seconds
    ]
    print(table(["seconds", "p50", "p99", "most"], rows))
    progress(f"{changing.changes} changes of the other tenants, {changing.refused} refused by the API server")


def _too_slow(measured: Measured, slowdown: float) -> list[str]:
    """Return one line for each missed objective. Bounds are those of an idle machine, times how slow this one was."""
    return [
        f"p99 of {kind} for the well-behaved tenant: {measured.p99(kind):.2f} s, more than {bound * slowdown:.2f} s"
        for kind, bound in P99.items()
        if measured.p99(kind) > bound * slowdown or not measured.seconds[kind]
    ]


def _exceeded(bridge: BridgeProcess, first: dict[str, int]) -> list[str]:
    """Return a line for each restart, and for each peak of memory above the limit in the chart's values."""
    values: dict[str, Any] = yaml.safe_load(VALUES.read_text())
    limits = {"bridge": values["resources"], "opa": values["opa"]["resources"]}
    wrong = [f"{name} has restarted" for name, pid in first.items() if bridge.pids().get(name) != pid]
    for name, pid in bridge.pids().items():
        used, limit = highest_memory(pid), _mebibytes(limits[name]["limits"]["memory"])
        progress(f"{name} used at most {used:.0f} MiB of {limit:.0f}")
        if used > limit:
            wrong.append(f"{name} used {used:.0f} MiB; the chart's limit is {limit:.0f}")
    return wrong


def _mebibytes(quantity: str) -> float:
    return float(quantity[:-2]) * {"Ki": 2**-10, "Mi": 1.0, "Gi": 2.0**10}[quantity[-2:]]


async def _differences_at_rest(api: ApiServer, bridge: BridgeProcess) -> list[str]:
    """Delete the hostile tenant's objects, and wait until everything is equal; return what is not in the end."""
    for path in _HOSTILE_COLLECTIONS:
        await asyncio.to_thread(api.request, "DELETE", path)
    began = time.monotonic()
    while True:
        try:
            objects = await asyncio.to_thread(_replicated_objects, api)
            async with Opa(bridge.opa_url, timeout=60.0) as opa:
                found = await _wrong_in_opa(opa, objects)
        except (ApiError, OSError, OpaError) as error:
            found = [str(error)]
        took = time.monotonic() - began
        if not found:
            progress(f"{len(objects)} objects and their statuses are equal after {took:.0f} s")
        if not found or took > _PATIENCE:
            return [f"not equal after {took:.0f} s: {one}" for one in found[:10]]
        await asyncio.sleep(1)


_TYPES = (*ALWAYS, THING, f"{GROUP}/LimitPolicy", *(f"{CHANGING_GROUP}/{kind}" for kind in POLICY_KINDS))


def _replicated_objects(api: ApiServer) -> dict[Key, Object]:
    """Return all objects of the replicated types, in their preferred version. Blocks; raises ApiError and OSError."""
    roots = {"core": "/api/v1"}
    for group in api.get("/apis")["groups"]:
        roots[group["name"]] = f"/apis/{group['preferredVersion']['groupVersion']}"
    found: dict[Key, Object] = {}
    for group in {type_id.partition("/")[0] for type_id in _TYPES} & roots.keys():
        for served in api.get(roots[group])["resources"]:
            if f"{group}/{served['kind']}" in _TYPES and "/" not in served["name"]:
                answer = api.get(f"{roots[group]}/{served['name']}")
                for item in answer["items"]:
                    obj = {**item, "apiVersion": answer["apiVersion"], "kind": served["kind"]}
                    found[key_of(obj)] = obj
    return found


async def _wrong_in_opa(opa: Opa, objects: Mapping[Key, Object]) -> list[str]:
    """Return the differences of OPA's objects and index, and the statuses and marks that are not as computed anew."""
    if found := await differences(opa, objects.values()):
        return found
    policies = [*await opa.query("policies", {}), *await opa.query("policykinds", {})]
    wanted = [entry for entry in await opa.query("status", {"policies": policies}) if entry["mode"] == "Manage"]
    wrong = [
        f"{entry['policy']} shows {shown(objects, entry)}, not {said(entry)}"
        for entry in wanted
        if shown(objects, entry) != said(entry)
    ]
    marked = [str(key) for key in objects if key.kind in MARKED]
    wrong += [
        f"{entry['object']} shows {marks_shown(objects, entry)}, not {marks_wanted(entry)}"
        for entry in await opa.query("affected", {"objects": marked})
        if marks_shown(objects, entry) != marks_wanted(entry)
    ]
    return wrong


if __name__ == "__main__":
    sys.exit(main())
