"""Marks on affected objects on a real API server: where they stand, beside what, and that they go."""

import asyncio
from collections.abc import Callable
from typing import Any

from bridge.sidecar.store import MARKED
from tests.eventually import equal_to, eventually
from tests.integration.api_objects import fresh_name
from tests.integration.test_remediator_on_a_cluster import Place, at_work, place

__all__ = ["place"]  # the fixture

THEIRS = {
    "type": "Accepted",
    "status": "True",
    "reason": "Accepted",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


async def until(look: Callable[[], Any], wanted: Any) -> None:
    """Wait until a look at the cluster gives what is wanted."""
    await eventually(lambda: asyncio.to_thread(look), equal_to(wanted))


class Marks:
    """What objects of a place show of ours."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def _get(self, plural: str, name: str) -> Any:
        return self._place.api.get(self._place.path(plural, name))

    def _ours(self, conditions: list[dict[str, Any]]) -> list[str]:
        return [f"{one['type']}: {one['message']}" for one in conditions if one["type"].endswith("Affected")]

    def gateway(self, name: str = "public") -> list[str]:
        """In status.conditions."""
        return self._ours(self._get("gateways", name)["status"].get("conditions", []))

    def listener(self, name: str = "public") -> list[str]:
        """In the status of the first listener."""
        listeners = self._get("gateways", name)["status"].get("listeners", [])
        return [mark for listener in listeners for mark in self._ours(listener["conditions"])]

    def parents(self) -> list[tuple[str, str, list[str]]]:
        """The route's status.parents: Gateway, controller and types of conditions."""
        return [
            (one["parentRef"]["name"], one["controllerName"], [c["type"] for c in one["conditions"]])
            for one in self._get("httproutes", "shop").get("status", {}).get("parents", [])
        ]

    def annotations(self, plural: str, name: str) -> dict[str, str]:
        """All annotations."""
        found: dict[str, str] = self._get(plural, name)["metadata"].get("annotations", {})
        return found


async def report(place: Place, plural: str, kind: str, name: str, status: dict[str, Any]) -> None:
    """Write a status as the Gateways' controller does."""
    path = place.path(plural, name)
    body = {"apiVersion": "/".join(path.split("/")[2:4]), "kind": kind, "metadata": {"name": name}, "status": status}
    await asyncio.to_thread(place.api.merge, f"{path}/status?fieldManager=them", body)


async def describe(place: Place, **fields: Any) -> None:
    """Change the place's PolicyKind; a None takes a field away."""
    path = f"/apis/policybridge.io/v1alpha1/policykinds/huepolicies.{place.group}"
    await asyncio.to_thread(place.api.merge, path, {"spec": fields})


async def test_marks_keep_the_status_of_others_and_are_removed_with_the_policy(place: Place) -> None:
    marks, us = Marks(place), f"{place.group}/us"
    mark = f"{place.group}/HuePolicyAffected"
    parent_ref = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}
    their_entry = {"parentRef": parent_ref, "controllerName": "they/them", "conditions": [THEIRS]}
    await report(place, "httproutes", "HTTPRoute", "shop", {"parents": [their_entry]})
    await place.policy("wide", "blue", "Gateway", "public")
    lease = fresh_name("lease")
    async with at_work(place, lease) as bridge:
        await until(marks.gateway, [f"{mark}: Affected by HuePolicy/{place.namespace}/wide"])
        await until(marks.parents, [("public", "they/them", ["Accepted"]), ("public", us, [mark])])
        route = await place.get("httproutes", "shop")
        assert route["status"]["parents"][0] == their_entry
        (condition,) = route["status"]["parents"][1]["conditions"]
        assert condition["observedGeneration"] == route["metadata"]["generation"]
        await bridge.settled()
    shown = [await place.get("httproutes", "shop"), await place.get("gateways", "public")]
    async with at_work(place, lease) as again:
        await again.settled()
        assert again.remediator.writes == 0
        assert [await place.get("httproutes", "shop"), await place.get("gateways", "public")] == shown
        await place.route("inner")
        await until(marks.gateway, [])
        await until(marks.parents, [("public", "they/them", ["Accepted"])])
        await place.route("public")
        await until(marks.parents, [("public", "they/them", ["Accepted"]), ("public", us, [mark])])
        await place.delete("huepolicies", "wide")
        await until(marks.gateway, [])
        await until(marks.parents, [("public", "they/them", ["Accepted"])])


async def test_marks_go_with_their_policy_kind_and_follow_its_controllers_name(place: Place) -> None:
    marks = Marks(place)
    message = f"Affected by HuePolicy/{place.namespace}/wide"
    await place.policy("wide", "blue", "Gateway", "public")
    async with at_work(place):
        await until(marks.gateway, [f"{place.group}/HuePolicyAffected: {message}"])
        await describe(place, controllerName="moved.example.com/us")
        await until(marks.gateway, [f"moved.example.com/HuePolicyAffected: {message}"])
        await until(marks.parents, [("public", "moved.example.com/us", ["moved.example.com/HuePolicyAffected"])])
        await describe(place, conditions="Enforced")
        await place.until("wide", Accepted="Accepted", Enforced="Enforced")
        path = f"/apis/policybridge.io/v1alpha1/policykinds/huepolicies.{place.group}"
        await asyncio.to_thread(place.api.request, "DELETE", path)
        await until(marks.gateway, [])
        await until(marks.parents, [])
        await asyncio.to_thread(place.api.request, "POST", path.rpartition("/")[0], kind_of(place))


async def test_marks_of_a_policy_kind_that_was_deleted_while_no_bridge_ran_go_with_the_next_one(place: Place) -> None:
    marks, lease = Marks(place), fresh_name("lease")
    await place.policy("wide", "blue", "Gateway", "public")
    async with at_work(place, lease):
        await until(marks.gateway, [f"{place.group}/HuePolicyAffected: Affected by HuePolicy/{place.namespace}/wide"])
        await until(marks.parents, [("public", f"{place.group}/us", [f"{place.group}/HuePolicyAffected"])])
        await until(lambda: f"{place.group}/us" in remembered(place, lease), True)
    path = f"/apis/policybridge.io/v1alpha1/policykinds/huepolicies.{place.group}"
    await asyncio.to_thread(place.api.request, "DELETE", path)
    async with at_work(place, lease):
        await until(marks.gateway, [])
        await until(marks.parents, [])
        await until(lambda: f"{place.group}/us" in remembered(place, lease), False)
    await asyncio.to_thread(place.api.request, "POST", path.rpartition("/")[0], kind_of(place))


def remembered(place: Place, lease: str) -> str:
    """What a Lease says of the names under which objects are marked."""
    found = place.api.get(f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{lease}")
    text: str = found["metadata"].get("annotations", {}).get(MARKED, "")
    return text


def kind_of(place: Place) -> dict[str, Any]:
    """A PolicyKind for the fixture to delete."""
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "PolicyKind",
        "metadata": {"name": f"huepolicies.{place.group}"},
        "spec": {"group": place.group, "kind": "HuePolicy", "effectiveTarget": "Rule"},
    }
