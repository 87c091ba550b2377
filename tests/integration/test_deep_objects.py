"""Objects that are nested too deeply, on a real API server: they are dropped and reported alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.kube.kube_client import KubeClient
from bridge.kube.listwatch import Pace
from bridge.model.nesting import MAX_DEPTH
from bridge.model.observability import EventType
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from bridge.sources.cluster import ClusterSource
from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.plane import ControlPlane
from tests.eventually import equal_to, eventually
from tests.integration.api_objects import apply_crd, crd, delete_crd, fresh_name, make_namespace
from tests.warm_opa import WarmOpa
from tests.working import working

BARELY_PYTHON = 970  # levels at which a decoder in Python 3.11 ends with a RecursionError
MOST = 9_000  # levels that an API server stores
PACES = {"streamed": Pace(), "in pages": Pace(streams=False)}


class Things:
    """Objects of a CRD that keeps unknown fields."""

    def __init__(self, api: ApiServer, group: str, namespace: str) -> None:
        self.type_id = f"{group}/Thing"
        self._api = api
        self._group = group
        self._namespace = namespace

    async def put(self, name: str, depth: int = 2) -> None:
        """Create or change one that has so many levels, the object's own included."""
        spec = '"spec":' + '{"a":' * (depth - 1) + "1" + "}" * (depth - 1)
        head = json.dumps({"apiVersion": f"{self._group}/v1", "kind": "Thing", "metadata": {"name": name}})
        try:
            await asyncio.to_thread(self._api.request, "POST", self._path, f"{head[:-1]},{spec}}}")
        except ApiError as error:
            if error.status != 409:
                raise
            patch = ("PATCH", f"{self._path}/{name}", f"{{{spec}}}", "application/merge-patch+json")
            await asyncio.to_thread(self._api.request, *patch)

    async def delete(self, name: str) -> None:
        """Delete one."""
        await asyncio.to_thread(self._api.request, "DELETE", f"{self._path}/{name}")

    @property
    def _path(self) -> str:
        return f"/apis/{self._group}/v1/namespaces/{self._namespace}/things"

    async def in_opa(self, opa: Opa) -> set[str]:
        """The names of those that OPA holds."""
        return set(await opa.get(f"objects/{self._group}/Thing/{self._namespace}") or {})


@pytest.fixture
async def things(control_plane: ControlPlane) -> AsyncIterator[Things]:
    api, group = control_plane.api, f"{fresh_name('group')}.example.com"
    namespace = await make_namespace(api)
    await apply_crd(api, crd("things", "Thing", group=group))
    yield Things(api, group, namespace)
    await delete_crd(api, f"things.{group}")


@asynccontextmanager
async def replicating(
    plane: ControlPlane, opa: Opa, things: Things, pace: Pace, events: list[tuple[str, str]] | None = None
) -> AsyncIterator[Replicator]:
    """A replicator of these things; it is still at work at the end."""

    def record(regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        if events is not None:
            events.append((regarding["metadata"]["name"], f"{reason}: {message}"))

    async with await KubeClient.connect(plane.kubeconfig) as client:
        replicator = Replicator(ClusterSource(client, pace=pace), opa, [things.type_id], record=record)
        async with working(replicator.run):
            await asyncio.wait_for(replicator.filled.wait(), 300)
            yield replicator


async def holds(opa: Opa, things: Things, names: set[str]) -> None:
    """Wait until OPA holds exactly these."""
    await eventually(lambda: things.in_opa(opa), equal_to(names))


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES.keys())
async def test_too_deep_object_is_dropped_and_its_type_continues(
    pace: Pace, control_plane: ControlPlane, opa_path: Path, things: Things
) -> None:
    await things.put("deep", BARELY_PYTHON)
    await things.put("deeper", MOST)
    await things.put("limit", MAX_DEPTH)
    await things.put("beyond", MAX_DEPTH + 1)
    await things.put("first")
    events: list[tuple[str, str]] = []
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        with capture_logs() as logs:
            async with replicating(control_plane, opa, things, pace, events) as replicator:
                await holds(opa, things, {"limit", "first"})
                assert replicator.rejected[things.type_id] == 3
                await things.put("second")
                await holds(opa, things, {"limit", "first", "second"})
                await eventually(lambda: any(log["event"] == "objects rejected" for log in logs))
        async with replicating(control_plane, opa, things, pace):  # a restart
            await things.put("third")
            await holds(opa, things, {"limit", "first", "second", "third"})
    [reported] = [log for log in logs if log["event"] == "objects rejected"]
    assert reported["reason"] == "it is nested more than 200 levels deep"
    assert [key.rpartition("/")[2] for key in reported["keys"]] == ["beyond", "deep", "deeper"]
    message = "NotReplicated: Policies cannot use this object: it is nested more than 200 levels deep."
    assert sorted(events) == [("beyond", message), ("deep", message), ("deeper", message)]


@pytest.mark.parametrize("depth", [BARELY_PYTHON, pytest.param(MOST, marks=pytest.mark.long)])
async def test_object_that_becomes_too_deep_leaves_opa_and_comes_back_when_it_is_fixed(
    depth: int, control_plane: ControlPlane, opa_path: Path, things: Things
) -> None:
    await things.put("changing")
    await things.put("other")
    async with (
        WarmOpa(opa_path) as managed,
        Opa(managed.url) as opa,
        replicating(control_plane, opa, things, Pace()) as replicator,
    ):
        await holds(opa, things, {"changing", "other"})
        fills = replicator.counted.fills.total()
        await things.put("changing", depth)
        await holds(opa, things, {"other"})
        assert replicator.rejected[things.type_id] == 1
        await things.put("changing")
        await holds(opa, things, {"changing", "other"})
        assert replicator.rejected[things.type_id] == 0
        await things.put("changing", depth)
        await eventually(lambda: replicator.rejected[things.type_id] == 1)
        await things.delete("changing")
        await eventually(lambda: replicator.rejected[things.type_id] == 0)
        await holds(opa, things, {"other"})
        assert replicator.counted.fills.total() == fills
