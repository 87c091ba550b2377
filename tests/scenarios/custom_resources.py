"""The CRDs that a scenario's policies need on an API server, made from its PolicyKinds."""

from __future__ import annotations

from bridge.model.changes import Object
from tests.integration.objects import crd
from tests.scenarios.cases import PRESETS, Case

_PRESETS = {(group, kind) for group, _, kind in (preset.partition("/") for preset in PRESETS)}


def custom_resources(case: Case) -> list[Object]:
    """A CRD for each policy kind that the scenario has policies of and defines none for; presets have Gateway API's."""
    objects = case.raw()
    defined = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "CustomResourceDefinition"}
    versions = {_type(obj): obj["apiVersion"].partition("/")[2] for obj in objects if _type(obj) not in _PRESETS}
    crds = []
    for obj in objects:
        if obj["kind"] == "PolicyKind" and (type_ := (obj["spec"]["group"], obj["spec"]["kind"])) in versions:
            group, kind = type_
            body = crd(plural_of(kind), kind, group=group, versions=(versions[type_],))
            if body["metadata"]["name"] not in defined:
                crds.append(body)
    return crds


def plural_of(kind: str) -> str:
    """How an API server calls objects of a kind, by English's rules."""
    name = kind.lower()
    if name.endswith(("s", "x")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeo" else f"{name}s"


def _type(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"].partition("/")[0], obj["kind"]
