"""Rego that was written for kube-mgmt, unchanged."""

from pathlib import Path

import pytest

from bridge.files import rego_root
from bridge.model.types import plural_by_rule
from bridge.opa.bundle import Bundle, build_view_bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped
from bridge.policy_loader.assembly import assemble, kubernetes_view
from bridge.policy_loader.submissions import Submission
from tests.integration.loading import author, loading

ADMISSION = """package kubernetes.admission

import data.kubernetes.namespaces

deny contains msg if {
	input.request.kind.kind == "Ingress"
	some host in input.request.object.spec.rules[_].host
	not namespaces[input.request.namespace].metadata.labels.hosts == host
	msg := sprintf("invalid host %q", [host])
}

deny contains msg if {
	some other_ns, other_name
	service := data.kubernetes.services[other_ns][other_name]
	other_ns != input.request.namespace
	service.metadata.name == input.request.name
	msg := sprintf("also in %s", [other_ns])
}
"""
OBJECTS = {
    "core": {
        "Namespace": {"-": {"shop": {"metadata": {"name": "shop", "labels": {"hosts": "shop.example.com"}}}}},
        "Service": {"blog": {"cart": {"metadata": {"name": "cart"}}}},
    }
}


def view() -> str:
    return kubernetes_view(["core/Namespace", "core/Service"], plural_by_rule)


async def test_it_finds_objects_where_kube_mgmt_has_them(opa_path: Path) -> None:
    async with loading(opa_path, kubernetes=view) as bench:
        await bench.opa.put("objects", OBJECTS)
        bench.put("admission", ADMISSION)
        await bench.until_active("admission")
        rules = [{"host": ["other.example.com"]}]
        request = {
            "kind": {"kind": "Ingress"},
            "namespace": "shop",
            "name": "cart",
            "object": {"spec": {"rules": rules}},
        }
        reported = await bench.opa.ask("kubernetes/admission/deny", {"request": request})
        assert sorted(reported) == ["also in blog", 'invalid host "other.example.com"']
        assert await bench.opa.get("kubernetes/namespaces/shop/metadata/name") == "shop"


def _rules_of_a_hub() -> Bundle:
    """The bundle that a bridge gives its OPA, with a module that reads the view."""
    modules = {"deny.rego": "package deny\n\nr contains 1 if data.kubernetes.namespaces.shop\n"}
    submission = Submission(author("deny"), "1", modules)
    return assemble(shipped(rego_root()), [submission], {"kubernetes.rego": view()}, replicated=True)


async def test_an_edge_has_every_object_of_its_bundle_from_the_start(opa_path: Path) -> None:
    bundle = build_view_bundle(_rules_of_a_hub(), {"objects": OBJECTS}, "shop", "2026-01-01T00:00:00Z")
    async with ManagedOpa(opa_path, {}, bundle=bundle) as managed, Opa(managed.url) as opa:
        assert await opa.get("deny/r") == [1]
        assert await opa.query("effective", {"targets": []}) == []


async def test_reading_it_fails_until_opa_has_every_object(opa_path: Path) -> None:
    async with ManagedOpa(opa_path, {}, bundle=_rules_of_a_hub()) as managed, Opa(managed.url) as opa:
        for state in (None, {"filled": False, "complete": False}):
            await opa.put("bridge_state", state)
            with pytest.raises(OpaRejected, match="policy_bridge_lacks_objects produced conflicting values"):
                await opa.get("deny/r")
        # Another sync of an OPA that has all objects hides nothing.
        await opa.put("bridge_state", {"filled": False, "complete": True})
        assert await opa.get("deny/r") == []
        await opa.put("objects", OBJECTS)
        assert await opa.get("deny/r") == [1]


async def test_no_client_takes_its_place(opa_path: Path) -> None:
    async with loading(opa_path, kubernetes=view) as bench:
        bench.put("all", "package kubernetes\n\npods := {}\n")
        bench.put("below", "package kubernetes.services.mine\n\nx := 1\n")
        assert (await bench.refused("all"))[2] == "claim_refused"
        await bench.refused("below")


async def test_it_stays_away_from_documents_of_kube_mgmt(opa_path: Path) -> None:
    async with loading(opa_path, listed=False, kubernetes=view) as bench:
        await bench.opa.put("kubernetes", {"services": {"a": {"b": {"x": 1}}}})
        bench.loader.listed()
        bench.put("admission", "package kubernetes.admission\n\nx := data.kubernetes.services.a.b.x\n")
        await bench.until_active("admission")
        assert await bench.opa.get("kubernetes/admission/x") == 1
