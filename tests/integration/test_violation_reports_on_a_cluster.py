"""Reports of violations on a real API server, in the form of the CRDs that are installed there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.kube.lease import FencedClient
from bridge.kube.report_client import LABEL, ReportClient
from bridge.model.types import ALWAYS
from bridge.remediator.audit import Audit
from bridge.remediator.violation_reports import ViolationReports
from bridge.work import Budget
from tests.bundles import bundle_with
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import apply_crd, make_namespace
from tests.integration.on_a_cluster import parts_on
from tests.integration.test_audit_on_a_cluster import CONSTRAINTS, CRDS, POLICY, Place
from tests.warm_opa import WarmOpa


@pytest.fixture
async def place(control_plane: ControlPlane, opa_path: Path) -> AsyncIterator[Place]:
    """A namespace and a Constraint of the test's own."""
    await apply_crd(control_plane.api, yaml.safe_load((CRDS / "constraints.yaml").read_text()))
    # Those of other tests deny what they match, because the OPA here has no policy for them.
    await asyncio.to_thread(control_plane.api.request, "DELETE", CONSTRAINTS)
    found = Place(control_plane, opa_path, control_plane.api, await make_namespace(control_plane.api))
    yield found
    await asyncio.to_thread(control_plane.api.request, "DELETE", f"{CONSTRAINTS}/{found.constraint}")


_REFERENCE = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("apiVersion", "kind", "namespace", "name", "uid")},
}
_RESULT = {
    "type": "object",
    "required": ["policy"],
    "properties": {
        **{name: {"type": "string"} for name in ("source", "policy", "message")},
        "severity": {"type": "string", "enum": ["critical", "high", "medium", "low", "info"]},
        "result": {"type": "string", "enum": ["pass", "fail", "warn", "error", "skip"]},
        "scored": {"type": "boolean"},
        "properties": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def report_crds(group: str, version: str, kind: str) -> list[dict[str, Any]]:
    """CRDs of reports with the fields that the bridge writes; other fields would be dropped."""
    schema = {
        "type": "object",
        "properties": {
            **({"source": {"type": "string"}} if group == "openreports.io" else {}),
            "scope": _REFERENCE,
            "summary": {"type": "object", "additionalProperties": {"type": "integer"}},
            "results": {"type": "array", "items": _RESULT},
        },
    }
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{name.lower()}s.{group}"},
            "spec": {
                "group": group,
                "scope": scope,
                "names": {"kind": name, "plural": f"{name.lower()}s", "singular": name.lower()},
                "versions": [
                    {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
                ],
            },
        }
        for name, scope in ((kind, "Namespaced"), (f"Cluster{kind}", "Cluster"))
    ]


OPEN_REPORTS = report_crds("openreports.io", "v1alpha1", "Report")
POLICY_REPORTS = report_crds("wgpolicyk8s.io", "v1alpha2", "PolicyReport")
OTHER_VERSION = "report CRDs have another version"
UNUSABLE = {
    "openreports": (report_crds("openreports.io", "v9", "Report"), OTHER_VERSION),
    "wgpolicyk8s": (report_crds("wgpolicyk8s.io", "v1beta1", "PolicyReport"), OTHER_VERSION),
    "half": (OPEN_REPORTS[:1], "report CRDs are incomplete"),
}


@asynccontextmanager
async def crds(plane: ControlPlane, found: list[dict[str, Any]]) -> AsyncIterator[None]:
    """These CRDs are installed, and gone afterwards."""
    for crd in found:
        await apply_crd(plane.api, crd)
    try:
        yield
    finally:
        await asyncio.to_thread(plane.api.delete_crds, {crd["metadata"]["name"] for crd in found})


Told = list[tuple[str, str, str]]


@asynccontextmanager
async def reporting(place: Place) -> AsyncIterator[tuple[ViolationReports, Told]]:
    """An audit with its reports, and the Events that it records: `(name, reason, message)`."""
    told: Told = []

    def record(regarding: Mapping[str, Any], event_type: str, reason: str, message: str) -> None:
        told.append((regarding["metadata"]["name"], reason, message))

    own = WarmOpa(place.opa_path, bundle=bundle_with([POLICY]))
    async with own as managed, parts_on(place.plane, managed.url) as parts:
        opa, sink, budget = parts.opa, parts.sink, Budget(1000, 1000)
        audit = Audit(parts.loop, opa, sink, budget, lambda: ALWAYS)
        client = ReportClient(FencedClient(parts.client, parts.lease))
        reports = ViolationReports(parts.loop, audit.audited, opa, sink, budget, record, client)
        begun = asyncio.Event()

        def follow(changed: Collection[str] | None) -> None:
            reports.follow(changed)
            begun.set()

        audit.listen(follow)
        async with parts.at_work(audit.run, reports.run):
            await asyncio.wait_for(begun.wait(), 300)  # what the first audit finds is no news
            yield reports, told


async def _reports(place: Place, path: str) -> list[dict[str, Any]]:
    label = "%3D".join(LABEL).replace("/", "%2F")
    answer = await asyncio.to_thread(place.api.get, f"{path}?labelSelector={label}")
    found: list[dict[str, Any]] = answer["items"]
    return found


async def _until(place: Place, path: str, wanted: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    return await eventually(partial(_reports, place, path), wanted)


def _at(group: str, version: str, place: Place, plural: str) -> str:
    return f"/apis/{group}/{version}/namespaces/{place.namespace}/{plural}"


async def test_an_object_with_violations_has_one_report_that_goes_with_them(place: Place) -> None:
    async with crds(place.plane, [*OPEN_REPORTS, *POLICY_REPORTS]), reporting(place) as (_, told):
        path = _at("openreports.io", "v1alpha1", place, "reports")
        await place.constrain(enforcementAction="warn")
        await place.service("cart", 2)
        [report] = await _until(place, path, lambda found: len(found) == 1)
        cart = await asyncio.to_thread(place.api.get, f"/api/v1/namespaces/{place.namespace}/services/cart")
        identity = {"apiVersion": "v1", "kind": "Service", "name": "cart", "uid": cart["metadata"]["uid"]}
        assert report["metadata"]["ownerReferences"] == [identity]
        assert report["scope"] == identity | {"namespace": place.namespace}
        assert report["summary"] == {"pass": 0, "fail": 0, "warn": 1, "error": 0, "skip": 0}
        assert report["source"] == "policy-bridge"
        assert report["results"] == [
            {
                "source": "policy-bridge",
                "policy": place.constraint,
                "result": "warn",
                "scored": False,
                "message": "2 ports are more than 1",
                "properties": {"enforcementAction": "warn", "violations": "1"},
            }
        ]
        assert await _reports(place, _at("wgpolicyk8s.io", "v1alpha2", place, "policyreports")) == []

        await place.service("cart", 3)
        [changed] = await _until(place, path, lambda found: found[0]["results"][0]["message"].startswith("3"))
        await place.service("cart", 1)
        await _until(place, path, lambda found: found == [])
        assert changed["metadata"]["uid"] == report["metadata"]["uid"]
        assert [one for one in told if one[0] == "cart"] == [
            ("cart", "PolicyViolation", f"[{place.constraint}] 2 ports are more than 1"),
            ("cart", "PolicyViolationResolved", f"[{place.constraint}] is no longer violated"),
        ]


async def test_the_report_of_an_object_that_is_created_again_belongs_to_the_new_one(place: Place) -> None:
    async with crds(place.plane, OPEN_REPORTS), reporting(place):
        path = _at("openreports.io", "v1alpha1", place, "reports")
        await place.constrain()
        await place.service("cart", 2)
        [former] = await _until(place, path, lambda found: len(found) == 1)
        await place.delete_service("cart")
        await place.service("cart", 2)
        await _until(place, path, lambda found: bool(found) and found[0]["scope"]["uid"] != former["scope"]["uid"])


@pytest.mark.parametrize(("unusable", "logged"), UNUSABLE.values(), ids=UNUSABLE)
async def test_report_crds_that_cannot_be_used_are_logged_and_lose_nothing_else(
    place: Place, capsys: pytest.CaptureFixture[str], unusable: list[dict[str, Any]], logged: str
) -> None:
    await place.constrain()
    await place.service("cart", 2)
    async with reporting(place) as (reports, told):
        async with crds(place.plane, unusable):
            await eventually(lambda: logged in capsys.readouterr().out)
            await place.until_named("cart")
            await place.service("basket", 2)
            event = ("basket", "PolicyViolation", f"[{place.constraint}] 2 ports are more than 1")
            await eventually(lambda: event in told)
            assert reports.writes == 0
        async with crds(place.plane, OPEN_REPORTS):
            path = _at("openreports.io", "v1alpha1", place, "reports")
            await _until(place, path, lambda found: len(found) == 2)
