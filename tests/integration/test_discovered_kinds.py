"""Policy kinds that a CRD's label makes, on a real API server and in a folder, while a bridge runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from bridge.kube.kube_client import KubeClient
from bridge.model.changes import Notice, Object, Source
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from bridge.sources.cluster import ClusterSource
from tests import builders
from tests.controlplane.plane import ControlPlane
from tests.eventually import equal_to, eventually
from tests.integration.api_objects import apply_crd, crd, delete_crd, fresh_name, make_namespace
from tests.integration.scripted import ScriptedSource
from tests.scenarios.cases import PRESETS
from tests.warm_opa import WarmOpa
from tests.working import working

LABEL = "gateway.networking.k8s.io/policy"


@asynccontextmanager
async def replicating(source: Source, opa_path: Path) -> AsyncIterator[tuple[Opa, Replicator]]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        replicator = Replicator(source, opa, ALWAYS)
        if isinstance(source, ClusterSource):
            replicator.listen(_rediscovering(source))
        async with working(replicator.run):
            await asyncio.wait_for(replicator.filled.wait(), 300)
            yield opa, replicator


def _rediscovering(source: ClusterSource) -> Callable[[Notice], None]:
    def noticed(notice: Notice) -> None:
        if any(key.kind == "CustomResourceDefinition" for key in notice.keys):
            source.rediscover()

    return noticed


def labelled(group: str, label: str | None) -> Object:
    body: Object = crd("huepolicies", "HuePolicy", group=group)
    body["metadata"]["labels"] = {} if label is None else {LABEL: label}
    return body


def policy(group: str, namespace: str) -> Object:
    ref = builders.target_ref("Namespace", namespace)
    return builders.policy("HuePolicy", "one", [ref], namespace, group=group, hue="red")


class Asked:
    """One kind in an OPA: its active class, and the effective hue of the namespace."""

    def __init__(self, opa: Opa, group: str, namespace: str) -> None:
        self._opa = opa
        self._kind = f"{group}/HuePolicy"
        self._target = f"core/Namespace/-/{namespace}"

    async def __call__(self) -> tuple[str | None, list[str]]:
        """Ask now."""
        kinds = await self._opa.get("kinds") or {}
        answer = await self._opa.query("effective", {"targets": [self._target]})
        hues = [path["spec"]["hue"] for entry in answer for path in entry["paths"] if entry["policyKind"] == self._kind]
        return kinds.get(self._kind, {}).get("class"), hues


async def test_a_crd_with_the_label_makes_a_policy_kind_while_it_is_there(
    control_plane: ControlPlane, client: KubeClient, opa_path: Path
) -> None:
    api, group = control_plane.api, f"{fresh_name('hue')}.example.com"
    namespace = await make_namespace(api)
    async with replicating(ClusterSource(client), opa_path) as (opa, replicator):
        requested = Asked(opa, group, namespace)
        assert await requested() == (None, [])
        await apply_crd(api, labelled(group, "Direct"))
        path = f"/apis/{group}/v1/namespaces/{namespace}/huepolicies/one"
        await asyncio.to_thread(api.apply, path, policy(group, namespace))
        await eventually(requested, equal_to(("Direct", ["red"])))
        await apply_crd(api, labelled(group, "inherited"))
        await eventually(requested, equal_to(("Inherited", [])))
        await apply_crd(api, labelled(group, "Direct"))
        await eventually(requested, equal_to(("Direct", ["red"])))
        await delete_crd(api, f"huepolicies.{group}")
        await eventually(requested, equal_to((None, [])))

        async def held() -> Any:
            return (await opa.get(f"objects/{group}/HuePolicy") or {}).get(namespace) or {}

        await eventually(held, equal_to({}))
        assert f"{group}/HuePolicy" not in replicator.troubles


async def test_a_label_that_means_nothing_is_reported_once(opa_path: Path) -> None:
    source = ScriptedSource([labelled("hue.example.com", "Odd")])
    with structlog.testing.capture_logs() as logs:
        async with replicating(source, opa_path) as (opa, _):
            reported = [f"label {LABEL}: Odd is not one of Direct, Inherited, true"]
            await eventually(lambda: _reasons(logs), equal_to(reported))
            source.put(labelled("blue.example.com", "Direct"))  # a kind that may be meant: `near` changes
            source.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            await eventually(lambda: _near(opa), equal_to("blue.example.com/HuePolicy"))
            assert await _reasons(logs) == reported


async def _reasons(logs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [entry["why"] for entry in logs if str(entry.get("crd")).endswith("/huepolicies.hue.example.com")]


async def _near(opa: Opa) -> str | None:
    found: str | None = (await opa.query("undescribed", {})).get("hue.example.com/HuePolicy", {}).get("near")
    return found


async def test_a_preset_without_a_crd_and_a_policykind_is_not_watched(opa_path: Path) -> None:
    source = ScriptedSource()
    async with replicating(source, opa_path) as (opa, _):
        assert set(await opa.get("kinds") or {}) == PRESETS
        assert not source.wanted & PRESETS
