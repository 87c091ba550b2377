"""Statuses on a real API server: what is written, what is left alone, and by whom."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

from bridge.opa.process import ManagedOpa
from bridge.remediator.remediator import Remediator
from bridge.replicator.replicator import Replicator
from bridge.sidecar.store import ClusterSink
from bridge.work import Budget
from tests.controlplane.api import ApiServer
from tests.controlplane.plane import ControlPlane
from tests.eventually import equal_to, eventually
from tests.integration.api_objects import apply_crd, crd, fresh_name, make_namespace
from tests.integration.on_a_cluster import Parts, parts_on
from tests.warm_opa import WarmOpa, whole_bundle

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


@dataclass
class Place:
    """A namespace and a policy kind of one test's own, with a Gateway, a route and a policy."""

    plane: ControlPlane
    opa_path: Path
    api: ApiServer
    namespace: str
    group: str

    def path(self, plural: str, name: str) -> str:
        """The URL path of one of its objects."""
        root = {"services": "/api/v1", "huepolicies": f"/apis/{self.group}/v1"}
        return f"{root.get(plural, '/apis/gateway.networking.k8s.io/v1')}/namespaces/{self.namespace}/{plural}/{name}"

    async def put(self, plural: str, kind: str, name: str, spec: dict[str, Any]) -> Any:
        """Create or change an object."""
        path = self.path(plural, name)
        api_version = "/".join(path.split("/")[2:4]) if path.startswith("/apis") else "v1"
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        return await asyncio.to_thread(self.api.apply, path, body)

    async def get(self, plural: str, name: str) -> Any:
        """An object as it is now."""
        return await asyncio.to_thread(self.api.get, self.path(plural, name))

    async def delete(self, plural: str, name: str) -> None:
        """Delete an object."""
        await asyncio.to_thread(self.api.request, "DELETE", self.path(plural, name))

    async def put_status(self, name: str, status: dict[str, Any]) -> None:
        """Write a policy's status as another client."""
        body = {"apiVersion": f"{self.group}/v1", "kind": "HuePolicy", "metadata": {"name": name}, "status": status}
        path = f"{self.path('huepolicies', name)}/status?fieldManager=somebody"
        await asyncio.to_thread(self.api.merge, path, body)

    async def route(self, gateway: str = "public") -> None:
        """The route, below a Gateway."""
        spec = {"parentRefs": [{"name": gateway}], "rules": [{"name": "all"}]}
        await self.put("httproutes", "HTTPRoute", "shop", spec)

    async def policy(
        self, name: str, hue: str, kind: str = "HTTPRoute", target: str = "shop", section: str = "", **more: Any
    ) -> None:
        """A policy."""
        ref = {"group": "gateway.networking.k8s.io", "kind": kind, "name": target}
        ref |= {"sectionName": section} if section else {}
        await self.put("huepolicies", "HuePolicy", name, {"targetRefs": [ref], "hue": hue, **more})

    async def conditions(self, name: str) -> dict[str, dict[str, Any]]:
        """A policy's conditions by type."""
        obj = await self.get("huepolicies", name)
        return {one["type"]: one for one in obj.get("status", {}).get("conditions", [])}

    async def reasons(self, name: str) -> dict[str, str]:
        """The reasons of a policy's conditions by type."""
        return {name: one["reason"] for name, one in (await self.conditions(name)).items()}

    async def until(self, name: str, **wanted: str) -> None:
        """Wait until a policy's conditions have these reasons."""
        await eventually(lambda: self.reasons(name), equal_to(wanted))


@pytest.fixture
async def place(control_plane: ControlPlane, opa_path: Path) -> AsyncIterator[Place]:
    api = control_plane.api
    group = f"{fresh_name('hue')}.example.com"
    await apply_crd(api, yaml.safe_load((CRDS / "policykinds.yaml").read_text()))
    await apply_crd(api, crd("huepolicies", "HuePolicy", group=group))
    policy_kind = {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "PolicyKind",
        "metadata": {"name": f"huepolicies.{group}"},
        "spec": {
            "group": group,
            "kind": "HuePolicy",
            "mode": "Manage",
            "controllerName": f"{group}/us",
            "effectiveTarget": "Rule",
            "specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}],
            "statusShape": "Conditions",
        },
    }
    path = f"/apis/policybridge.io/v1alpha1/policykinds/huepolicies.{group}"
    await asyncio.to_thread(api.apply, path, policy_kind)
    found = Place(control_plane, opa_path, api, await make_namespace(api), group)
    listeners = [{"name": "web", "port": 80, "protocol": "HTTP"}]
    for gateway in ("public", "inner"):
        await found.put("gateways", "Gateway", gateway, {"gatewayClassName": "none", "listeners": listeners})
    await found.route()
    yield found
    await asyncio.to_thread(api.request, "DELETE", path)


@dataclass
class Bridge:
    """The inner half of a bridge at work on the cluster."""

    opa: ManagedOpa | WarmOpa
    remediator: Remediator
    replicator: Replicator

    async def settled(self) -> None:
        """Wait until nothing has been written for a second."""
        writes = -1
        while writes != self.remediator.writes:
            writes = self.remediator.writes
            await asyncio.sleep(1)
            await asyncio.wait_for(self.remediator.settled(), 300)


class _HeldBack(ClusterSink):
    """A sink that writes only if `held` is true."""

    def __init__(self, parts: Parts, held: Callable[[], bool] | None) -> None:
        super().__init__(parts.client, parts.source.resource, parts.lease)
        self._held = held

    def may_write(self) -> bool:
        return super().may_write() and (self._held is None or self._held())


@asynccontextmanager
async def at_work(
    place: Place,
    lease_name: str = "",
    held: Callable[[], bool] | None = None,
    opa_class: type[ManagedOpa | WarmOpa] = WarmOpa,
) -> AsyncIterator[Bridge]:
    async with (
        opa_class(place.opa_path, {}, bundle=whole_bundle()) as managed,
        parts_on(place.plane, managed.url, lease_name) as parts,
    ):
        sink = _HeldBack(parts, held)
        remediator = Remediator(parts.loop, parts.opa, sink, Budget(1000, 1000))
        async with parts.at_work(remediator.run):
            yield Bridge(managed, remediator, parts.replicator)


async def test_a_status_has_the_generation_follows_the_others_and_is_written_once(place: Place) -> None:
    await place.policy("low", "blue")
    async with at_work(place) as bridge:
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        shown = await place.get("huepolicies", "low")
        assert {one["observedGeneration"] for one in shown["status"]["conditions"]} == {1}
        await bridge.settled()
        version = shown["metadata"]["resourceVersion"]
        await place.policy("high", "red", "Gateway", "public", strategy="AtomicOverrides")
        await place.until("low", Accepted="Accepted", Programmed="Overridden")
        await place.until("high", Accepted="Accepted", Programmed="Programmed")
        await bridge.settled()
        after = (await place.get("huepolicies", "low"))["metadata"]["resourceVersion"]
        assert after != version
        await place.put("services", "Service", "unrelated", {"ports": [{"port": 80}]})
        await bridge.settled()
        assert (await place.get("huepolicies", "low"))["metadata"]["resourceVersion"] == after
        await place.route("inner")  # away from the override
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        await place.until("high", Accepted="Accepted", Programmed="NoScope")
        await place.route("public")
        await place.until("low", Accepted="Accepted", Programmed="Overridden")
        await place.delete("huepolicies", "high")
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        await place.delete("httproutes", "shop")
        await place.until("low", Accepted="TargetNotFound")
        await place.policy("low", "green")
        await place.route("public")
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        assert (await place.conditions("low"))["Accepted"]["observedGeneration"] == 2


async def test_foreign_writes_over_our_status_are_fixed_and_other_entries_stay(place: Place) -> None:
    await place.policy("low", "blue")
    theirs = {"type": "Theirs", "status": "True", "reason": "T", "message": ""}
    entry = {"ancestorRef": {"name": "x"}, "controllerName": "they/them", "conditions": [theirs]}
    async with at_work(place):
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        ours = await place.conditions("low")
        lie = {**ours["Programmed"], "status": "False", "reason": "Overridden"}
        await place.put_status("low", {"conditions": [theirs, lie], "ancestors": [entry]})
        await place.until("low", Accepted="Accepted", Programmed="Programmed", Theirs="T")
        status = (await place.get("huepolicies", "low"))["status"]
        assert status["conditions"][0] == theirs
        assert status["ancestors"] == [entry]


async def test_a_burst_of_other_writes_only_delays_ours(place: Place) -> None:
    await place.policy("low", "blue")
    async with at_work(place):
        for number in range(30):
            await place.put_status("low", {"number": number})
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        assert (await place.get("huepolicies", "low"))["status"]["number"] == 29


async def test_without_the_lease_nothing_is_written_and_with_it_all_that_differs(place: Place) -> None:
    lease = fresh_name("lease")
    async with at_work(place, lease):
        await place.policy("low", "blue")
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        async with at_work(place, lease) as other:
            await place.policy("high", "red", "Gateway", "public", strategy="AtomicOverrides")
            await place.until("low", Accepted="Accepted", Programmed="Overridden")
            assert other.remediator.writes == 0
    await place.policy("lone", "red", target="missing")
    held = False
    async with at_work(place, lease, lambda: held) as bridge:
        await asyncio.sleep(1)
        assert bridge.remediator.writes == 0
        assert await place.reasons("lone") == {}
        held = True
        await place.until("lone", Accepted="TargetNotFound")


@pytest.mark.long
async def test_after_a_restart_of_opa_statuses_stay_as_they_are(place: Place) -> None:
    await place.policy("low", "blue")
    async with at_work(place, opa_class=ManagedOpa) as bridge:
        await place.until("low", Accepted="Accepted", Programmed="Programmed")
        await bridge.settled()
        before, writes = await place.get("huepolicies", "low"), bridge.remediator.writes
        port = int(bridge.opa.url.rpartition(":")[2])
        await bridge.opa.stop()
        await asyncio.sleep(0.5)
        async with ManagedOpa(place.opa_path, {}, bundle=whole_bundle(), port=port):
            await asyncio.sleep(2.5)  # until it looks
            await asyncio.wait_for(bridge.replicator.filled.wait(), 300)
            await bridge.settled()
            assert await place.get("huepolicies", "low") == before
            assert bridge.remediator.writes == writes
            await place.policy("high", "red", "Gateway", "public", strategy="AtomicOverrides")
            await place.until("low", Accepted="Accepted", Programmed="Overridden")


async def test_a_status_that_is_refused_does_not_hold_up_the_others(place: Place) -> None:
    refusing = copy.deepcopy(crd("huepolicies", "HuePolicy", group=place.group))
    schema = refusing["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    conditions = {"type": "array", "maxItems": 1, "items": anything}
    schema["properties"] = {"status": {"type": "object", "properties": {"conditions": conditions}}}
    await apply_crd(place.api, refusing)
    await asyncio.sleep(1)
    await place.policy("two", "blue")  # two conditions, which the schema refuses
    await place.policy("one", "blue", target="missing")  # one
    async with at_work(place):
        await place.until("one", Accepted="TargetNotFound")
        assert await place.reasons("two") == {}


async def test_a_crd_without_the_subresource_status_is_reported_with_the_fix(place: Place) -> None:
    changed = copy.deepcopy(crd("huepolicies", "HuePolicy", group=place.group))
    del changed["spec"]["versions"][0]["subresources"]
    await apply_crd(place.api, changed)
    await place.policy("blue", "blue")
    with capture_logs() as logs:
        async with at_work(place):
            await eventually(
                lambda: [one["why"] for one in logs if one["event"] == "status write failed"],
                lambda why: any(f"huepolicies.{place.group} has no subresource status in v1" in one for one in why),
            )
            await apply_crd(place.api, crd("huepolicies", "HuePolicy", group=place.group))
            await place.until("blue", Accepted="Accepted", Programmed="Programmed")
