"""The CRDs that a scenario's policies need on an API server, made from its PolicyKinds."""

from __future__ import annotations

from bridge.model.changes import Object
from tests.scenarios.cases import Case

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def custom_resources(case: Case) -> list[Object]:
    """A CRD for each policy kind that the scenario has policies of and defines no CRD for."""
    objects = case.raw()
    defined = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "CustomResourceDefinition"}
    versions = {_type(obj): obj["apiVersion"].partition("/")[2] for obj in objects}
    crds = []
    for obj in objects:
        if obj["kind"] == "PolicyKind" and (type_ := (obj["spec"]["group"], obj["spec"]["kind"])) in versions:
            crd = _crd(*type_, versions[type_])
            if crd["metadata"]["name"] not in defined:
                crds.append(crd)
    return crds


def _type(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"].partition("/")[0], obj["kind"]


def _crd(group: str, kind: str, version: str) -> Object:
    plural = kind.lower().removesuffix("y") + "ies"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": _ANYTHING, "status": _ANYTHING},
                        }
                    },
                }
            ],
        },
    }
