"""Resource types: the data to list and watch one kind of object.

`ALWAYS` lists the types that every bridge replicates: those of Gateway API, and those that the rules read.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.model.keys import CORE

GATEWAY_API = "gateway.networking.k8s.io"
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
POLICY_KIND = "policybridge.io/PolicyKind"
CONSTRAINT = "policybridge.io/Constraint"
DESCRIBING = frozenset({POLICY_KIND, CRD})  # types whose objects describe policy kinds
ALWAYS = (
    CRD,
    POLICY_KIND,
    CONSTRAINT,
    "core/Namespace",
    "core/Service",
    *(
        f"{GATEWAY_API}/{kind}"
        for kind in (
            "GatewayClass",
            "Gateway",
            "ListenerSet",
            "HTTPRoute",
            "GRPCRoute",
            "TLSRoute",
            "TCPRoute",
            "UDPRoute",
            "ReferenceGrant",
        )
    ),
)


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A kind as the API server serves it. `group` is `core` for the core group; `plural` is the name in URLs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def id(self) -> str:
        """Return `<group>/<Kind>`."""
        return f"{self.group}/{self.kind}"

    @property
    def api_version(self) -> str:
        """Return the `apiVersion` of its objects."""
        return self.version if self.group == CORE else f"{self.group}/{self.version}"

    @property
    def path(self) -> str:
        """Return the URL path of all its objects in all namespaces, without a trailing slash."""
        root = "/api" if self.group == CORE else f"/apis/{self.group}"
        return f"{root}/{self.version}/{self.plural}"

    def collection(self, namespace: str) -> str:
        """Return the URL path of all its objects in one namespace; empty: in all."""
        if not namespace:
            return self.path
        root, _, plural = self.path.rpartition("/")
        return f"{root}/namespaces/{namespace}/{plural}"

    def object_path(self, namespace: str, name: str) -> str:
        """Return the URL path of one object. `namespace` is ignored for a cluster-scoped type."""
        if not self.namespaced:
            return f"{self.path}/{name}"
        return f"{self.collection(namespace)}/{name}"


def regular_plural(kind: str) -> str:
    """Return the regular plural name of a kind, in lower case, which all of Kubernetes' own have except Endpoints."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"
