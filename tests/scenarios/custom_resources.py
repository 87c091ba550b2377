"""The CRDs that a scenario's objects need on an API server."""

from bridge.model.changes import Object
from bridge.model.types import CLUSTER_SCOPED
from bridge.sources.defaults import load_defaults
from tests.integration.api_objects import crd
from tests.scenarios.cases import PRESETS, Case

_PRESETS = {(group, kind) for group, _, kind in (preset.partition("/") for preset in PRESETS)}
_CLUSTER_SCOPED = CLUSTER_SCOPED | {name for name, kind in load_defaults().vendors.items() if not kind.namespaced}
BUILT_IN = ("admissionregistration.k8s.io",)  # groups of presets that an API server has without CRDs
_OF_GATEWAY_API = ("gateway.networking.k8s.io", "gateway.networking.x-k8s.io")


def custom_resources(case: Case) -> list[Object]:
    """Return a CRD for each policy kind that the scenario uses without defining it, except Gateway API's own.

    Include the kinds that its extension modules add, and the targets of its PolicyKinds.
    """
    objects = case.raw()
    defined = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "CustomResourceDefinition"}
    versions = {
        _type(obj): obj["apiVersion"].partition("/")[2] for obj in objects if _type(obj)[0] not in _OF_GATEWAY_API
    }
    vendors = [type_ for type_ in versions if type_ in _PRESETS]
    policies = [(obj["spec"]["group"], obj["spec"]["kind"]) for obj in objects if obj["kind"] == "PolicyKind"]
    extended = [type_ for type_ in versions if case.modules and type_[0].endswith(".example.com")]
    extended += [type_ for type_ in versions if "/".join(type_) in case.targeted_kinds]
    crds = {
        body["metadata"]["name"]: body
        for group, kind in [*policies, *vendors, *extended]
        if (group, kind) in versions and group not in BUILT_IN
        for scope in ["Cluster" if f"{group}/{kind}" in _CLUSTER_SCOPED else "Namespaced"]
        for body in [crd(plural_of(kind), kind, group=group, versions=(versions[group, kind],), scope=scope)]
    }
    for body in crds.values():
        if body["spec"]["group"].endswith(".k8s.io"):  # the API server protects Kubernetes' own groups
            body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return [body for name, body in crds.items() if name not in defined]


def plural_of(kind: str) -> str:
    """Return the plural of a kind, by the rules of English."""
    name = kind.lower()
    if name.endswith(("s", "x")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeo" else f"{name}s"


def _type(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"].partition("/")[0], obj["kind"]
