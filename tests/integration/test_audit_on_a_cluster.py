"""Constraints on a real API server: what their statuses say of objects that exist."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.types import ALWAYS
from bridge.remediator.audit import Audit
from bridge.work import Budget
from tests.builders import resource
from tests.bundles import bundle_with
from tests.controlplane.api import ApiServer
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import apply_crd, fresh_name, make_namespace
from tests.integration.on_a_cluster import parts_on
from tests.warm_opa import WarmOpa

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
CONSTRAINTS = "/apis/policybridge.io/v1alpha1/constraints"
POLICY = """package shop.ports

violation contains {"msg": sprintf("%d ports are more than %d", [ports, input.parameters.limit])} if {
	ports := count(input.review.object.spec.ports)
	ports > input.parameters.limit
}
"""


@dataclass
class Place:
    """A namespace of one test's own, with Services and a Constraint on them."""

    plane: ControlPlane
    opa_path: Path
    api: ApiServer
    namespace: str
    constraint: str = field(default_factory=lambda: fresh_name("ports"))

    async def service(self, name: str, ports: int) -> None:
        """A Service with that many ports."""
        spec = {"ports": [{"name": f"p{port}", "port": port} for port in range(1, ports + 1)]}
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        await self._send("PATCH", f"/api/v1/namespaces/{self.namespace}/services/{name}", body)

    async def delete_service(self, name: str) -> None:
        """Delete the Service."""
        await asyncio.to_thread(self.api.request, "DELETE", f"/api/v1/namespaces/{self.namespace}/services/{name}")

    async def label(self, labels: dict[str, str]) -> None:
        """The namespace has these labels."""
        body = {"metadata": {"labels": labels}}
        path = f"/api/v1/namespaces/{self.namespace}"
        await asyncio.to_thread(self.api.merge, path, body)

    async def constrain(self, **spec: Any) -> None:
        """The Constraint, on the Services of the namespace."""
        match = {"kinds": [{"apiGroups": [""], "kinds": ["Service"]}], "namespaces": [self.namespace]}
        whole = {"policy": "shop.ports", "match": match, "parameters": {"limit": 1}, **spec}
        body = resource("policybridge.io/v1alpha1", "Constraint", self.constraint, spec=whole)
        await self._send("PATCH", f"{CONSTRAINTS}/{self.constraint}", body)

    async def shown(self) -> Any:
        """The Constraint as it is now."""
        return await asyncio.to_thread(self.api.get, f"{CONSTRAINTS}/{self.constraint}")

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        """Wait until the Constraint's status is so, and give the Constraint."""
        return await eventually(self.shown, lambda shown: wanted(shown.get("status", {})))

    async def until_named(self, *names: str) -> Any:
        """Wait until the status names these Services, in this order, as all that there are."""
        return await self.until(
            lambda status: (
                status.get("totalViolations") == len(names)
                and [entry["name"] for entry in status["violations"]] == list(names)
            )
        )

    async def _send(self, method: str, path: str, body: Any) -> None:
        await asyncio.to_thread(self.api.apply, path, body)


@pytest.fixture
async def place(control_plane: ControlPlane, opa_path: Path) -> AsyncIterator[Place]:
    await apply_crd(control_plane.api, yaml.safe_load((CRDS / "constraints.yaml").read_text()))
    found = Place(control_plane, opa_path, control_plane.api, await make_namespace(control_plane.api))
    yield found
    await asyncio.to_thread(control_plane.api.request, "DELETE", f"{CONSTRAINTS}/{found.constraint}")


@asynccontextmanager
async def at_work(place: Place) -> AsyncIterator[Audit]:
    """An audit with an OPA of its own that has POLICY."""
    own = WarmOpa(place.opa_path, bundle=bundle_with([POLICY]))
    async with own as managed, parts_on(place.plane, managed.url) as parts:
        audit = Audit(parts.loop, parts.opa, parts.sink, Budget(1000, 1000), lambda: ALWAYS)
        async with parts.at_work(audit.run):
            yield audit


async def test_a_status_follows_objects_and_the_constraint(place: Place) -> None:
    await place.service("cart", 2)
    await place.service("stock", 1)
    await place.constrain()
    async with at_work(place) as audit:
        shown = await place.until_named("cart")
        status = shown["status"]
        assert status["violations"] == [
            {
                "group": "",
                "kind": "Service",
                "namespace": place.namespace,
                "name": "cart",
                "enforcementAction": "deny",
                "message": "2 ports are more than 1",
            }
        ]
        [accepted] = status["conditions"]
        assert (accepted["type"], accepted["status"], accepted["reason"]) == ("Accepted", "True", "Accepted")
        assert accepted["observedGeneration"] == 1
        assert status["auditTimestamp"]
        await place.service("stock", 3)
        await place.until_named("cart", "stock")
        await place.delete_service("cart")
        shown = await place.until_named("stock")
        await place.service("other", 1)  # judged, and no violation
        await asyncio.sleep(1.5)
        assert (await place.shown())["metadata"]["resourceVersion"] == shown["metadata"]["resourceVersion"]
        await place.constrain(parameters={"limit": 5})
        await place.until_named()
        await place.constrain(enforcementAction="dryrun")
        shown = await place.until_named("stock")
        assert shown["status"]["violations"][0]["enforcementAction"] == "dryrun"
        await asyncio.wait_for(audit.settled(), 300)


async def test_labels_of_a_namespace_decide_for_its_objects(place: Place) -> None:
    await place.service("cart", 2)
    large = {"match": {"namespaceSelector": {"matchLabels": {"size": "large"}}}, "parameters": {"limit": 2}}
    await place.constrain(parameterSelection=[large])
    async with at_work(place):
        await place.until_named("cart")
        await place.label({"size": "large"})
        await place.until_named()
        await place.label({"size": "small"})
        await place.until_named("cart")


async def test_a_status_has_the_first_twenty_violations_and_their_number(place: Place) -> None:
    for number in range(25):
        await place.service(f"s{number:02}", 2)
    await place.constrain()
    async with at_work(place):
        shown = await place.until(lambda status: status.get("totalViolations") == 25)
        assert [entry["name"] for entry in shown["status"]["violations"]] == [f"s{number:02}" for number in range(20)]


async def test_kinds_that_are_not_replicated_are_reported(place: Place) -> None:
    await place.constrain(match={"kinds": [{"apiGroups": [""], "kinds": ["Service", "Pod"]}]})
    async with at_work(place):
        shown = await place.until(lambda status: bool(status.get("conditions")))
        assert "core/Pod" in shown["status"]["conditions"][0]["message"]
        assert "core/Service" not in shown["status"]["conditions"][0]["message"]
