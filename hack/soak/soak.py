"""A soak: random changes and faults for some minutes, with pauses in which all results must become correct.

In a pause each OPA must equal the API server, and statuses a new computation.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS, ResourceType
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from hack.cluster import running_cluster
from hack.figures import percentile, progress, short, table
from hack.processes import BridgeProcess
from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.plane import ControlPlane
from tests.faults.comparing import differences
from tests.integration.objects import apply_crd, crd
from tests.properties.shown import MARKED, marks_shown, marks_wanted, said, shown
from tests.properties.small_world import GATEWAY_API, GROUP, NAMESPACES, POLICY_KINDS, THING, SmallWorld

SELECTED = ("core/ConfigMap", THING)  # replicated because of the setting `types`
TYPES = (*ALWAYS, *SELECTED, *(f"{GROUP}/{kind}" for kind in POLICY_KINDS))
PATIENCE = 180.0  # seconds; what is not equal by then never is
_SHOWN = 12  # printed differences
_TELL = 20.0  # seconds between two printed differences while states converge


@dataclass(frozen=True, slots=True)
class Equal:
    """The number of compared objects, statuses and affected objects, and the `seconds` until all were equal."""

    objects: int
    statuses: int
    affected: int
    seconds: float


class Different(Exception):
    """The remaining differences, a line each."""


async def until_equal(places: Places, opas: Mapping[str, str], values: Mapping[str, tuple[int, bool]]) -> Equal:
    """Wait until each OPA (its URL by a name) equals the API server, and statuses are correct.

    Raises Different where that does not happen.
    """
    began = time.monotonic()
    tell = began + _TELL
    while True:
        found, equal = await _look(places, opas, values, time.monotonic() - began)
        if not found:
            return equal
        if time.monotonic() - began > PATIENCE:
            raise Different("\n".join([*found[:_SHOWN], f"({len(found)} differences)"]))
        if time.monotonic() > tell:
            progress(f"not yet: {found[0][:300]}")
            tell = time.monotonic() + _TELL
        await asyncio.sleep(0.5)


async def _look(
    places: Places, opas: Mapping[str, str], values: Mapping[str, tuple[int, bool]], seconds: float
) -> tuple[list[str], Equal]:
    reported: list[str] = []
    statuses = affected = 0
    objects: dict[Key, Object] = {}
    try:
        objects = await asyncio.to_thread(places.objects)
        for name, url in opas.items():
            async with Opa(url, timeout=30.0) as opa:
                found = await differences(opa, objects.values()) + await _wrong_values(opa, values)
                if not found:
                    found, statuses, affected = await _wrong_statuses(opa, objects)
            reported += [f"{name}: {one}" for one in found]
    except (OpaError, OSError, ApiError) as error:
        reported.append(str(error))
    return reported, Equal(len(objects), statuses, affected, seconds)


async def _wrong_values(opa: Opa, values: Mapping[str, tuple[int, bool]]) -> list[str]:
    """Return modules of ConfigMaps with wrong values. While a module is invalid, the previous version is expected."""
    found = await opa.get("soak") or {}
    wrong = []
    for name, (value, broken) in values.items():
        has = found.get(name, {}).get("value")
        # A good one may have been too short there to come into force; and a bridge that started later never saw it.
        if has != value and not (broken and (has is None or has < value)):
            wrong.append(f"module {name} says {has}, not {value}")
    return wrong


async def _wrong_statuses(opa: Opa, objects: Mapping[Key, Object]) -> tuple[list[str], int, int]:
    """Return statuses of policies and affected objects that differ from a new computation, and the counts."""
    policies = [*await opa.query("policies", {}), *await opa.query("policykinds", {})]
    wanted = [entry for entry in await opa.query("status", {"policies": policies}) if entry["mode"] == "Manage"]
    wrong = [
        f"{entry['policy']} shows {shown(objects, entry)}, not {said(entry)}"
        for entry in wanted
        if shown(objects, entry) != said(entry)
    ]
    marked = [str(key) for key in objects if key.kind in MARKED]
    affected = await opa.query("affected", {"objects": marked})
    wrong += [
        f"{entry['object']} shows {marks_shown(objects, entry)}, not {marks_wanted(entry)}"
        for entry in affected
        if marks_shown(objects, entry) != marks_wanted(entry)
    ]
    return wrong, len(wanted), len(affected)


class Places:
    """The API server's paths of the objects of TYPES, in its preferred version."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        preferred = {
            group["name"]: group["preferredVersion"]["version"]
            for group in api.get("/apis")["groups"]
            if any(type_id.startswith(f"{group['name']}/") for type_id in TYPES)
        }
        served = [
            ResourceType(group, version, one["kind"], one["name"], one["namespaced"])
            for group, version in {"core": "v1", **preferred}.items()
            for one in api.get("/api/v1" if group == "core" else f"/apis/{group}/{version}")["resources"]
            if "/" not in one["name"]
        ]
        self._types = {type_.id: type_ for type_ in served if type_.id in TYPES}

    def of(self, key: Key) -> str:
        """Return the path of one object."""
        type_ = self._types[key.type_id]
        namespace = f"/namespaces/{key.namespace}" if type_.namespaced else ""
        return f"{self._root(key.type_id)}{namespace}/{type_.plural}/{key.name}"

    def objects(self) -> dict[Key, Object]:
        """Return all objects. Blocks; raises OSError if the API server is unavailable."""
        found: dict[Key, Object] = {}
        for type_id, type_ in self._types.items():
            answer = self._api.get(f"{self._root(type_id)}/{type_.plural}")
            for item in answer["items"]:
                obj = {**item, "apiVersion": answer["apiVersion"], "kind": type_.kind}
                found[key_of(obj)] = obj
        return found

    def _root(self, type_id: str) -> str:
        type_ = self._types[type_id]
        return "/api/v1" if type_.group == "core" else f"/apis/{type_.group}/{type_.version}"


POLICIES = "opa-policies"  # the namespace that ConfigMaps with Rego come from
ROUTES = 300  # names of routes beside the small world's; about half of them exist
SPARE = 3  # namespaces that come and go
MODULES = 4  # ConfigMaps with a value each
_AWAY = 0.3  # seconds between attempts to reach an API server
_NOT_FOUND = 404
_POLICY = {"openpolicyagent.org/policy": "rego"}
_LINKS = """package bridge.extensions.hierarchy.soak

links contains ["core/Service/shop/{name}", "example.com/Thing/shop/bucket"] if {{
	input.object.kind == "Thing"
	input.object.metadata.name == "bucket"
}}
"""


class Life:
    """Endless changes. `values` has the value of each active module, and whether an invalid version followed."""

    def __init__(self, api: ApiServer, places: Places, seed: int) -> None:
        self.changes = 0
        self.refused = 0  # by the API server, which knows more of objects than what makes them here
        self.values: dict[str, tuple[int, bool]] = {}
        self._api = api
        self._places = places
        self._seed = seed
        self._going = asyncio.Event()
        self._under_way = 0
        self._world = SmallWorld(seed)

    def prepare(self) -> None:
        """Create the namespaces and Gateways of all objects."""
        for name in (*NAMESPACES, POLICIES, "bulk"):
            self._api.apply(f"/api/v1/namespaces/{name}", _object("v1", "Namespace", name))
        for key, obj in self._world.objects.items():
            try:
                self._put(key, obj)
            except ApiError:
                self.refused += 1

    def works(self) -> list[Coroutine[Any, Any, None]]:
        """Change objects until cancelled, except during `rest`."""
        steps = ((self._step, 0.02), (self._route, 0.02), (self._module, 1.5), (self._namespace, 4.0))
        return [self._work(step, pause, number) for number, (step, pause) in enumerate(steps)]

    def resume(self) -> None:
        """Change objects from now on."""
        self._going.set()

    async def rest(self) -> None:
        """Change nothing until `resume`; return when no change is in progress."""
        self._going.clear()
        while self._under_way:  # noqa: ASYNC110 (they are threads)
            await asyncio.sleep(0.05)

    async def _work(self, step: Callable[[random.Random], None], pause: float, number: int) -> None:
        chance = random.Random(self._seed * 10 + number)
        while True:
            await self._going.wait()
            self._under_way += 1
            try:
                await asyncio.shield(asyncio.to_thread(step, chance))
                self.changes += 1
            except ApiError:
                self.refused += 1
            except OSError:
                await asyncio.sleep(_AWAY)
            finally:
                self._under_way -= 1
            await asyncio.sleep(chance.uniform(0, 2 * pause))

    def _step(self, chance: random.Random) -> None:
        _, key, obj = self._world.step()
        if obj is not None:
            self._put(key, obj)
        elif key.kind == "PolicyKind" and chance.random() < 0.7:
            return  # without them there are no statuses
        elif key.kind != "Namespace":  # no controller would empty it here
            self._delete(self._places.of(key))

    def _route(self, chance: random.Random) -> None:
        name = f"route-{chance.randrange(ROUTES)}"
        path = f"/apis/{GATEWAY_API}/v1/namespaces/bulk/httproutes/{name}"
        if chance.random() < 0.3:
            self._delete(path)
            return
        refs = [{"name": f"service-{number}", "port": 80} for number in range(chance.randrange(4))]
        parents = [{"name": chance.choice(("public", "inner")), "namespace": chance.choice(("infra", "shop"))}]
        spec = {"parentRefs": parents, "hostnames": ["shop.example.com"], "rules": [{"backendRefs": refs}]}
        self._api.apply(path, _object(f"{GATEWAY_API}/v1", "HTTPRoute", name, spec=spec))

    def _module(self, chance: random.Random) -> None:
        if chance.random() < 0.2:
            self._config_map("links", _LINKS.format(name=chance.choice(("cart", "stock"))))
            return
        name = f"value{chance.randrange(MODULES)}"
        value, _ = self.values.get(name, (0, False))
        if chance.random() < 0.2:
            self._config_map(name, f"package soak.{name}\n\nvalue := {value} if {{\n")
            self.values[name] = value, True
            return
        self._config_map(name, f"package soak.{name}\n\nvalue := {value + 1}\n")
        self.values[name] = value + 1, False

    def _config_map(self, name: str, text: str) -> None:
        body = {**_object("v1", "ConfigMap", name), "data": {"main.rego": text}}
        body["metadata"]["labels"] = _POLICY
        self._api.apply(f"/api/v1/namespaces/{POLICIES}/configmaps/{name}", body)

    def _namespace(self, chance: random.Random) -> None:
        """Create a namespace with a route, or delete one with its objects, as a cluster's controllers do."""
        name = f"spare-{chance.randrange(SPARE)}"
        path = f"/api/v1/namespaces/{name}"
        routes = f"/apis/{GATEWAY_API}/v1/namespaces/{name}/httproutes"
        try:
            there = self._api.get(path)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            self._api.apply(path, _object("v1", "Namespace", name))
            rules = [{"backendRefs": [{"name": "cart", "port": 80}]}]
            spec = {"parentRefs": [{"name": "public", "namespace": "infra"}], "rules": rules}
            self._api.apply(f"{routes}/one", _object(f"{GATEWAY_API}/v1", "HTTPRoute", "one", spec=spec))
            return
        self._api.request("DELETE", routes)
        self._delete(path)
        self._api.request("PUT", f"{path}/finalize", {**there, "spec": {"finalizers": []}, "metadata": {"name": name}})

    def _put(self, key: Key, obj: dict[str, Any]) -> None:
        # What only an API server gives, and what no longer counts once it is another's
        metadata = {name: value for name, value in obj["metadata"].items() if name in {"name", "namespace", "labels"}}
        self._api.apply(self._places.of(key), {**obj, "metadata": metadata})

    def _delete(self, path: str) -> None:
        with contextlib.suppress(ApiError):  # it is not there
            self._api.request("DELETE", path)


def _object(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


_FROZEN = 4.0  # seconds at most
_LONGEST_AWAY = 5.0


class Faults:
    """Kills and freezes. The bridge of the first replica is never killed, so that its memory can be measured."""

    def __init__(self, plane: ControlPlane, replicas: list[BridgeProcess], seed: int, pause: float) -> None:
        self.counts: Counter[str] = Counter()
        self._plane = plane
        self._replicas = replicas
        self._chance = random.Random(seed)
        self._pause = pause  # seconds between two, on average
        self._repaired = asyncio.Lock()  # held while something is broken
        self._going = asyncio.Event()

    def resume(self) -> None:
        """Cause faults from now on."""
        self._going.set()

    async def rest(self) -> None:
        """Cause no faults until `resume`; return when every process runs."""
        self._going.clear()
        async with self._repaired:
            pass

    async def happen(self) -> None:
        """Cause faults until cancelled, except during `rest`."""
        kinds: list[tuple[str, int, Callable[[], Awaitable[None]]]] = [
            ("bridge_killed", 3, self._kill_bridge),
            ("opa_killed", 4, self._kill_opa),
            ("opa_frozen", 2, lambda: self._freeze("opa")),
            ("bridge_frozen", 1, lambda: self._freeze("bridge")),
            ("api_server_killed", 2, self._kill_api_server),
            ("history_forgotten", 1, self._forget_history),
        ]
        while True:
            await asyncio.sleep(self._chance.uniform(0.2, 1.8) * self._pause)
            await self._going.wait()
            (chosen,) = self._chance.choices(kinds, [weight for _, weight, _ in kinds])
            name, _, happen = chosen
            async with self._repaired:
                if not self._going.is_set():
                    continue
                progress(f"fault: {name}")
                await happen()
            self.counts[name] += 1

    async def _kill_bridge(self) -> None:
        one = self._chance.choice(self._replicas[1:])
        one.kill()
        await asyncio.sleep(self._chance.uniform(0, _LONGEST_AWAY))
        await one.start()

    async def _kill_opa(self) -> None:
        self._chance.choice(self._replicas).signal("opa", signal.SIGKILL)

    async def _freeze(self, name: str) -> None:
        one = self._chance.choice(self._replicas)
        one.signal(name, signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(0.5, _FROZEN))
        one.signal(name, signal.SIGCONT)

    async def _kill_api_server(self) -> None:
        await asyncio.to_thread(self._plane.stop_api_server)
        await asyncio.sleep(self._chance.uniform(0, _LONGEST_AWAY))
        await asyncio.to_thread(self._plane.start_api_server)

    async def _forget_history(self) -> None:
        await asyncio.to_thread(self._plane.forget_history)


RESTS = 12  # in a soak, at most
_SHORTEST = 25.0  # seconds between two rests
_FAULT_EVERY = 8.0  # seconds between two faults, on average
_SETTINGS = {
    "BRIDGE_TYPES": ",".join(SELECTED),
    "BRIDGE_STATUS_WRITES_PER_SECOND": "1000",  # what is compared is what they say, not how fast they come
}
# Of memory in MiB in the pauses: the first replica's bridge is never killed; its OPA is, and Go keeps freed memory.
_GROWTH = {"bridge": (1.15, 10.0), "opa": (1.5, 40.0)}  # from the first third to the last: a factor, and more beside
_MOST = {"bridge": 200.0, "opa": 400.0}  # at any rest: the cluster is small
_THIRDS = 3


class Failed(Exception):
    """The remaining errors, a line each."""


async def soak(minutes: float, seed: int, folder: Path) -> None:
    """Run a soak with logs in `folder`, and print figures. Raises Failed, or Different in a pause."""
    progress(f"seed {seed}; logs are in {folder}")
    async with running_cluster(folder / "control-plane") as plane:
        options = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]
        replicas = [BridgeProcess(name, folder, options, _SETTINGS) for name in ("first", "second")]
        try:
            await _define(plane)
            places = await asyncio.to_thread(Places, plane.api)
            life = Life(plane.api, places, seed)
            await asyncio.to_thread(life.prepare)
            await asyncio.gather(*(one.start() for one in replicas))
            faults = Faults(plane, replicas, seed, _FAULT_EVERY)
            async with asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(work) for work in (*life.works(), faults.happen())]
                try:
                    rests, memories = await _rests(minutes * 60, places, life, faults, replicas)
                finally:
                    for task in background:
                        task.cancel()
        finally:
            for one in replicas:
                await asyncio.to_thread(one.kill)
    errors = [line for one in replicas for line in one.errors()]
    _report(life, faults, rests, memories)
    if wrong := [*errors[:20], *_grown(memories)]:
        raise Failed("\n".join(wrong))


async def _define(plane: ControlPlane) -> None:
    policies = {"direct": "Direct", "selecting": "Direct", "rule": "Inherited", "backend": "Inherited"}
    for kind in POLICY_KINDS:
        body = crd("backendpolicies" if kind == "BackendPolicy" else f"{kind.lower()[:-1]}ies", kind, group=GROUP)
        label = policies[kind.lower().removesuffix("policy")]
        body["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": label}
        await apply_crd(plane.api, body)
    await apply_crd(plane.api, crd("things", "Thing", group="example.com"))


async def _rests(
    seconds: float, places: Places, life: Life, faults: Faults, replicas: list[BridgeProcess]
) -> tuple[list[Equal], list[dict[str, float]]]:
    """Run changes and faults with pauses, the last one at the end; in each pause everything must become equal.

    Returns each pause's result, and the MiB of the first replica's bridge and OPA in it.
    """
    every = max(seconds / RESTS, _SHORTEST)
    ends = time.monotonic() + seconds
    rests: list[Equal] = []
    memories: list[dict[str, float]] = []
    while not rests or time.monotonic() < ends:
        life.resume()
        faults.resume()
        await asyncio.sleep(min(every, max(ends - time.monotonic(), 1.0)))
        await faults.rest()
        await life.rest()
        progress(f"rest after {life.changes} changes: everything must come right")
        equal = await until_equal(places, {one.name: one.opa_url for one in replicas}, life.values)
        rests.append(equal)
        memories.append(replicas[0].memories())
        progress(f"equal after {equal.seconds:.1f} s: {equal.objects} objects; MiB: {memories[-1]}")
    return rests, memories


def _grown(memories: list[dict[str, float]]) -> Iterator[str]:
    """Yield one line for each growth between the first and the last third of the pauses."""
    third = max(1, len(memories) // _THIRDS)
    for name, (factor, beside) in _GROWTH.items():
        seen = [found[name] for found in memories if name in found]
        if not seen:
            continue
        before, after = max(seen[:third]), min(seen[-third:])
        if len(seen) >= _THIRDS and after > before * factor + beside:
            yield f"the memory of {name} grew from {before:.0f} to {after:.0f} MiB"
        if max(seen) > _MOST[name]:
            yield f"the memory of {name} was {max(seen):.0f} MiB at a rest, more than {_MOST[name]:.0f}"


def _report(life: Life, faults: Faults, rests: list[Equal], memories: list[dict[str, float]]) -> None:
    last, took = rests[-1], [rest.seconds for rest in rests]
    rows = [
        ["changes", f"{life.changes}, {life.refused} refused by the API server"],
        ["faults", ", ".join(f"{count} {name}" for name, count in sorted(faults.counts.items()))],
        ["pauses", f"{len(rests)}; equal after {short(percentile(took, 0.5))} s (p50), {short(max(took))} s (most)"],
        ["equal in the last", f"{last.objects} objects, {last.statuses} statuses, {last.affected} affected objects"],
    ]
    for name, first in memories[0].items():
        rows.append([f"memory of {name}", f"{first:.0f} MiB at first, {memories[-1].get(name, 0):.0f} MiB at last"])
    print(table(["soak", ""], rows))
