"""Placement on a real API server: what moves objects, what is reported instead, and that all else stays as it is."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from bridge.model.placement_decision import Mode, Placed, decision_path
from bridge.model.types import Selection
from bridge.opa.client import Opa
from bridge.opa.errors import OpaTimeout
from bridge.opa.process import ManagedOpa
from bridge.remediator import decisions
from bridge.remediator.decisions import Deciding
from bridge.remediator.placement_updates import Placement
from bridge.work import Budget
from tests.controlplane.api import ApiServer
from tests.controlplane.plane import ControlPlane
from tests.eventually import equal_to, eventually
from tests.freezing import freeze
from tests.integration.api_objects import apply_crd, crd, fresh_name, make_namespace
from tests.integration.on_a_cluster import parts_on
from tests.processes import opa_below
from tests.warm_opa import WarmOpa, sync_bundle

EXAMPLE = Path(__file__).parents[2] / "examples" / "placement"
POLICY = yaml.safe_load((EXAMPLE / "20-policy.yaml").read_text())["data"]["placement.rego"]
ASKS = "policy.federation.alpha.kubernetes.io"
PREFERENCES = "federation.kubernetes.io/replica-set-preferences"
DEPLOYMENT = "apps/Deployment"


async def load(opa: ManagedOpa, rego: str) -> None:
    """Put a module into an OPA."""
    async with aiohttp.ClientSession() as session, session.put(f"{opa.url}/v1/policies/admins", data=rego) as answer:
        assert answer.status == 200, await answer.text()


@dataclass
class Place:
    """Clusters of a group of their own, and a namespace with Deployments."""

    plane: ControlPlane
    opa_path: Path
    api: ApiServer
    group: str
    namespace: str

    @property
    def policy(self) -> str:
        """The example's, reading these clusters."""
        return str(POLICY).replace("placement.example.com", self.group)

    async def cluster(self, name: str, region: str, level: int) -> None:
        """Create or change a cluster."""
        spec = {"region": region, "pciLevel": level}
        body = {"apiVersion": f"{self.group}/v1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec}
        path = f"/apis/{self.group}/v1/clusters/{name}"
        await asyncio.to_thread(self.api.apply, path, body)

    def path(self, name: str) -> str:
        """The URL path of a Deployment."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}"

    async def deploy(self, name: str, image: str = "nginx:1", **annotations: str) -> None:
        """Create or change a Deployment, as its owner does: annotations named by their last part."""
        labels = {"app": name}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": name,
                "annotations": {f"{ASKS}/{k.replace('_', '-')}": v for k, v in annotations.items()},
            },
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}},
            },
        }
        await asyncio.to_thread(self.api.apply, self.path(name), body)

    async def annotate(self, name: str, **annotations: str | None) -> None:
        """Write annotations as another client."""
        body = {"metadata": {"annotations": annotations}}
        path = f"{self.path(name)}?fieldManager=somebody"
        await asyncio.to_thread(self.api.merge, path, body)

    async def get(self, name: str) -> Any:
        """A Deployment as it is now."""
        return await asyncio.to_thread(self.api.get, self.path(name))

    async def annotations(self, name: str) -> dict[str, str]:
        """All its annotations."""
        found: dict[str, str] = (await self.get(name))["metadata"].get("annotations", {})
        return found

    async def placed(self, name: str) -> list[str]:
        """The clusters that it is placed on."""
        text = (await self.annotations(name)).get(PREFERENCES)
        return sorted(json.loads(text)["clusters"]) if text else []

    async def until_placed(self, name: str, *clusters: str) -> None:
        """Wait until it is placed there."""
        await eventually(lambda: self.placed(name), equal_to(sorted(clusters)))


@pytest.fixture
async def place(control_plane: ControlPlane, opa_path: Path) -> Place:
    api = control_plane.api
    group = f"{fresh_name('placement')}.example.com"
    clusters = crd("clusters", "Cluster", group=group)
    clusters["spec"]["scope"] = "Cluster"
    await apply_crd(api, clusters)
    found = Place(control_plane, opa_path, api, group, await make_namespace(api))
    await found.cluster("west1", "eu", 1)
    await found.cluster("west2", "eu", 2)
    await found.cluster("central", "us", 1)
    return found


@dataclass
class Bridge:
    """The part of a bridge that places, at work on the cluster."""

    opa: ManagedOpa
    placement: Placement
    events: list[tuple[str, str, str]] = field(default_factory=list)  # (name, reason, message)

    async def policy(self, rego: str) -> None:
        """Put a policy in place of the one before."""
        await load(self.opa, rego)
        self.placement.policy_changed()

    async def settled(self) -> None:
        """Wait until nothing has been written for a second."""
        patched = -1
        while patched != self.placement.counts["patched"]:
            patched = self.placement.counts["patched"]
            await asyncio.sleep(1)
            await asyncio.wait_for(self.placement.settled(), 300)


@asynccontextmanager
async def at_work(
    place: Place,
    mode: Mode = "Write",
    *,
    policy: str | None = None,
    budget: Budget | None = None,
    lease_name: str = "",
) -> AsyncIterator[Bridge]:
    types = {DEPLOYMENT: Selection(namespaces=(place.namespace,))}
    async with (
        ManagedOpa(place.opa_path, {}, bundle=sync_bundle()) as managed,
        parts_on(
            place.plane, managed.url, lease_name, needed=(f"{place.group}/Cluster", DEPLOYMENT), types=types
        ) as parts,
    ):
        await load(managed, place.policy if policy is None else policy)
        placed = [Placed(DEPLOYMENT, mode, decision_path("data.io.k8s.federation.admission"))]
        bridge = Bridge(managed, None)  # type: ignore[arg-type]

        def record(regarding: Mapping[str, Any], event_type: str, reason: str, message: str) -> None:
            assert regarding["apiVersion"] == "apps/v1"
            assert event_type == "Warning"
            bridge.events.append((regarding["metadata"]["name"], reason, message))

        bridge.placement = Placement(parts.loop, parts.opa, parts.sink, placed, budget or Budget(1000, 1000), record)
        async with parts.at_work(bridge.placement.run):
            yield bridge


async def test_a_deployment_moves_when_a_cluster_the_policy_or_its_own_annotations_change(place: Place) -> None:
    await place.deploy("checkout", eu_jurisdiction_required="true", pci_compliance_level="2")
    await place.deploy("catalog")
    async with at_work(place) as bridge:
        await place.until_placed("checkout", "west1", "west2")
        await place.cluster("west2", "eu", 3)
        await place.until_placed("checkout", "west1")
        await place.deploy("checkout", pci_compliance_level="2")  # its owner wants it elsewhere too
        await place.until_placed("checkout", "central", "west1")
        await bridge.policy(
            place.policy.replace('"weight": 1', '"weight": 2').replace(
                "eu_required if asked", "eu_required if not asked"
            )
        )
        await place.until_placed("checkout", "west1")
        assert json.loads((await place.annotations("checkout"))[PREFERENCES])["clusters"] == {"west1": {"weight": 2}}
        await bridge.settled()
        # This policy holds for who asks for nothing, too.
        assert await place.placed("catalog") == ["west1", "west2"]
        assert bridge.events == []


@pytest.mark.long
async def test_a_settled_status_is_written_once_and_stays_silent(place: Place) -> None:
    for number in range(5):
        await place.deploy(f"app{number}", eu_jurisdiction_required="true")
    async with at_work(place) as bridge:
        await place.until_placed("app4", "west1", "west2")
        await bridge.settled()
        assert bridge.placement.counts["patched"] == 5
        before = [await place.get(f"app{number}") for number in range(5)]
        await place.cluster("other", "us", 4)  # judged again, without a difference
        judged = bridge.placement.counts["judged"]
        await eventually(lambda: bridge.placement.counts["judged"] >= judged + 5)
        await bridge.policy(place.policy)
        await bridge.settled()
        assert bridge.placement.counts["patched"] == 5
        assert [await place.get(f"app{number}") for number in range(5)] == before
        # A bridge that comes after this one finds it so.
    async with at_work(place) as bridge:
        await bridge.settled()
        assert bridge.placement.counts["judged"] >= 5
        assert bridge.placement.counts["patched"] == 0


async def test_errors_are_reported_once_and_nothing_is_written(place: Place) -> None:
    await place.deploy("checkout", eu_jurisdiction_required="true", pci_compliance_level="2")
    async with at_work(place) as bridge:
        await place.until_placed("checkout", "west1", "west2")
        await place.cluster("west1", "us", 1)
        await place.until_placed("checkout", "west2")
        before = await place.get("checkout")
        await place.cluster("west2", "eu", 4)
        await eventually(lambda: bool(bridge.events))
        await place.cluster("more", "us", 4)
        await bridge.settled()
        assert bridge.events == [("checkout", "PlacementDenied", "no cluster has what this workload asks for")]
        assert bridge.placement.counts["PlacementDenied"] == 1
        assert await place.get("checkout") == before
        await place.cluster("more", "eu", 1)
        await place.until_placed("checkout", "more")


async def test_report_writes_nothing_at_all(place: Place) -> None:
    await place.deploy("checkout", eu_jurisdiction_required="true")
    await place.deploy("nowhere", clusters="missing")
    before = await place.get("checkout")
    async with at_work(place, "Report") as bridge:
        await eventually(lambda: bridge.placement.counts["PlacementDiffers"] == 1)
        await eventually(lambda: bridge.placement.counts["PlacementDenied"] == 1)
        await bridge.settled()
        assert await place.get("checkout") == before
        assert bridge.events == []
        assert bridge.placement.counts["patched"] == 0


async def test_values_of_every_type_are_merged_and_annotations_of_others_stay(place: Place) -> None:
    policy = """package io.k8s.federation.admission
    annotations := {
      "t/text": "x", "t/number": 1.5, "t/yes": true, "t/null": null, "t/list": [1, "a"], "t/map": {"b": 1, "a": []},
    }
    warnings := ["of no concern here"]
    """
    await place.deploy("app")
    await place.annotate("app", **{"others.io/kept": "1", "t/text": "to be replaced"})
    async with at_work(place, policy=policy) as bridge:
        wanted = {
            "t/text": "x",
            "t/number": "1.5",
            "t/yes": "true",
            "t/null": "null",
            "t/list": '[1,"a"]',
            "t/map": '{"a":[],"b":1}',
        }
        wanted["others.io/kept"] = "1"
        await eventually(lambda: place.annotations("app"), equal_to(wanted))
        await place.annotate("app", **{"others.io/more": "2"})
        # What the policy does not set any more stays: the decision adds and replaces.
        await bridge.policy('package io.k8s.federation.admission\nannotations := {"t/text": "y"}')
        wanted |= {"t/text": "y", "others.io/more": "2"}
        await eventually(lambda: place.annotations("app"), equal_to(wanted))
        await bridge.settled()
        assert await place.annotations("app") == wanted


@pytest.mark.long
async def test_placement_is_restored_after_another_client_overwrites_it(place: Place) -> None:
    await place.deploy("app", eu_jurisdiction_required="true")
    async with at_work(place):
        await place.until_placed("app", "west1", "west2")
        await place.annotate("app", **{PREFERENCES: None})
        await place.until_placed("app", "west1", "west2")


@pytest.mark.parametrize(
    ("rego", "reported"),
    [
        ("annotations := [1]", "`annotations` of the decision is a list"),
        ('annotations := {"not a name": "x"}', "not a name"),
        ('annotations["a"] := x if some x in [1, 2]', "produced conflicting values"),
    ],
)
async def test_a_decision_that_is_unusable_is_reported_and_spoils_no_other(
    place: Place, rego: str, reported: str
) -> None:
    bad, _, condition = rego.partition(" if ")
    policy = f"""package io.k8s.federation.admission
    {bad} if {{ input.metadata.name == "bad"; {condition or "true"} }}
    annotations["set"] := "yes" if input.metadata.name != "bad"
    """
    if "annotations :=" in bad:
        policy = policy.replace('annotations["set"] := "yes"', 'annotations := {"set": "yes"}')
    for name in ("app1", "bad", "app2"):
        await place.deploy(name)
    async with at_work(place, policy=policy) as bridge:
        for name in ("app1", "app2"):
            await eventually(partial(place.annotations, name), lambda found: found.get("set") == "yes")
        await eventually(lambda: bool(bridge.events))
        await bridge.policy(policy + "\n")
        await asyncio.sleep(1)
        assert [event[:2] for event in bridge.events] == [("bad", "PlacementFailed")]
        assert reported in bridge.events[0][2]
        assert await place.annotations("bad") == {}


async def test_a_decision_that_is_not_an_object_or_undefined_writes_nothing(place: Place) -> None:
    await place.deploy("app")
    async with at_work(place, policy="package io.k8s.federation\nadmission := 3") as bridge:
        await eventually(lambda: bool(bridge.events))
        assert bridge.events[0][1:] == (
            "PlacementFailed",
            "the decision is a number, not an object with annotations, errors or warnings",
        )
        await bridge.policy("package io.k8s.federation\nadmission := {} if false")
        await bridge.settled()
        assert len(bridge.events) == 1
        assert await place.annotations("app") == {}


@pytest.mark.long
async def test_a_policy_that_flips_is_stopped_and_continues_when_it_or_the_object_changes(place: Place) -> None:
    # It judges its own former decision.
    flipping = """package io.k8s.federation.admission
    now := object.get(input.metadata, ["annotations", "where"], "a")
    annotations["where"] := "b" if now == "a"
    annotations["where"] := "a" if now == "b"
    """
    await place.deploy("app")
    await place.deploy("other")
    async with at_work(place, policy=flipping) as bridge:
        await eventually(lambda: len(bridge.events) == 2)
        await bridge.settled()
        assert sorted(event[:2] for event in bridge.events) == [
            ("app", "PlacementStopped"),
            ("other", "PlacementStopped"),
        ]
        assert "where: set 5 times within a minute" in bridge.events[0][2]
        stopped = await place.get("app")
        await place.cluster("more", "eu", 1)
        await bridge.settled()
        assert await place.get("app") == stopped
        await place.annotate("app", where="c")  # what is fought about is no change of its declaration
        await bridge.settled()
        assert await place.annotations("app") == {"where": "c"}
        await place.annotate("app", where="a")
        await place.deploy("app", "nginx:2")
        await eventually(lambda: len(bridge.events) == 3)
        await bridge.policy('package io.k8s.federation.admission\nannotations := {"where": "at last"}')
        for name in ("app", "other"):
            await eventually(partial(place.annotations, name), equal_to({"where": "at last"}))


@pytest.mark.long
async def test_the_budget_bounds_writes(place: Place) -> None:
    for number in range(12):
        await place.deploy(f"app{number}", eu_jurisdiction_required="true")
    async with at_work(place, budget=Budget(4, 1)) as bridge:
        began = time.monotonic()
        await eventually(lambda: bridge.placement.counts["patched"] == 12)
        assert time.monotonic() - began > 2


@pytest.mark.long
async def test_a_conflict_is_decided_again(place: Place) -> None:
    await place.deploy("app", eu_jurisdiction_required="true")
    async with at_work(place) as bridge:
        await place.until_placed("app", "west1", "west2")
        for number in range(20):
            await place.annotate("app", **{"others.io/count": str(number), PREFERENCES: "{}"})
            bridge.placement.policy_changed()
        await bridge.settled()
        assert (await place.annotations("app"))["others.io/count"] == "19"


@pytest.mark.long
async def test_an_opa_that_does_not_answer_in_time_is_waited_for_with_every_question(
    opa: WarmOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "DEADLINE", 0.2)
    frozen = opa_below(opa.pid)
    assert frozen is not None
    async with Opa(opa.url, timeout=1.0) as client:
        deciding = Deciding(client)
        decision = decision_path("data.io.k8s.federation.admission")
        freeze(frozen)
        try:
            for question in (
                deciding.revisions(),
                deciding.keys(DEPLOYMENT),
                deciding.declared([f"{DEPLOYMENT}/shop/checkout"]),
                deciding.decide(decision, [f"{DEPLOYMENT}/shop/checkout"]),
            ):
                with pytest.raises(OpaTimeout):  # which the placement waits and asks again for
                    await question
        finally:
            os.kill(frozen, signal.SIGCONT)
        assert await deciding.keys(DEPLOYMENT) == []


async def test_only_the_holder_of_the_lease_writes_and_tells(place: Place) -> None:
    lease = fresh_name("lease")
    async with at_work(place, lease_name=lease):
        await place.deploy("app", eu_jurisdiction_required="true")
        await place.until_placed("app", "west1", "west2")
        async with at_work(place, lease_name=lease) as second:
            await place.deploy("bad", clusters="missing")
            await place.cluster("west2", "us", 2)
            await place.until_placed("app", "west1")
            await asyncio.sleep(1)
            assert not second.placement.counts
            assert second.events == []
