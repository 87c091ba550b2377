"""The cluster as the reference sees it: objects by key, the sections of an object, and what a key is.

Nothing here, nor in the modules beside it, comes from `bridge`: the engine is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

GATEWAY_API = "gateway.networking.k8s.io"
ROUTES = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
CLUSTER_SCOPED = {(GATEWAY_API, "GatewayClass"), ("core", "Namespace"), ("policybridge.io", "PolicyKind")}

Spec = dict[str, Any]


class Node(NamedTuple):
    """An object or a section of one."""

    group: str
    kind: str
    namespace: str
    name: str
    section: str = ""
    role: str = ""

    def __str__(self) -> str:
        text = f"{self.group}/{self.kind}/{self.namespace}/{self.name}"
        return text + (f"#{self.section}" if self.section else "") + (f"@{self.role}" if self.role else "")

    @property
    def whole(self) -> Node:
        """The object that the section is of."""
        return self._replace(section="", role="")


def group_of(text: str) -> str:
    """A group as a ref writes it: perhaps with a version (T1), empty for core."""
    group = text.partition("/")[0]
    return group or "core"


def node_of(obj: Spec) -> Node:
    """The node that an object is."""
    group = obj["apiVersion"].rpartition("/")[0] or "core"
    metadata = obj["metadata"]
    return Node(group, obj["kind"], metadata.get("namespace") or "-", metadata["name"])


def sections_of(obj: Spec) -> list[tuple[str, Spec]]:
    """The sections of an object by name: listeners, rules, ports (K2, K3). Empty for a kind without sections."""
    node = node_of(obj)
    spec = obj.get("spec", {})
    if (node.group, node.kind) in {(GATEWAY_API, "Gateway"), (GATEWAY_API, "ListenerSet")}:
        return [(listener["name"], listener) for listener in spec.get("listeners", [])]
    if node.group == GATEWAY_API and node.kind in ROUTES:
        return [(rule.get("name") or f"[{index}]", rule) for index, rule in enumerate(spec.get("rules", []))]
    if (node.group, node.kind) == ("core", "Service"):
        return [(port.get("name") or str(port["port"]), port) for port in spec.get("ports", [])]
    return []


def has_sections(group: str, kind: str) -> bool:
    """Whether objects of this kind have sections."""
    return (group, kind) == ("core", "Service") or (
        group == GATEWAY_API and (kind in {"Gateway", "ListenerSet"} or kind in ROUTES)
    )


@dataclass
class Cluster:
    """All objects."""

    objects: dict[Node, Spec] = field(default_factory=dict)
    unaccepted: dict[Node, str] | None = None  # set by the first call of `listeners.unaccepted`

    @classmethod
    def of(cls, objects: Iterable[Spec]) -> Cluster:
        """The cluster that holds these objects."""
        return cls({node_of(obj): obj for obj in objects})

    def get(self, node: Node) -> Spec | None:
        """The object that this node is, or whose section it is."""
        return self.objects.get(node.whole)

    def of_kind(self, group: str, kind: str) -> list[Spec]:
        """All objects of a kind."""
        return [obj for node, obj in sorted(self.objects.items()) if (node.group, node.kind) == (group, kind)]

    def sections(self, node: Node) -> list[Node]:
        """The nodes of an object's sections."""
        obj = self.get(node)
        return [node._replace(section=name) for name, _ in sections_of(obj)] if obj else []

    def has_section(self, node: Node) -> bool:
        """Whether the object has this section, by exactly this name (K2)."""
        obj = self.get(node)
        return obj is not None and any(name == node.section for name, _ in sections_of(obj))

    def namespaces(self) -> list[str]:
        """Every namespace that holds an object."""
        return sorted({node.namespace for node in self.objects} - {"-"})

    def labels(self, namespace: str) -> dict[str, str]:
        """The labels of a Namespace. One that is not among the objects has its name, as on any API server (P2)."""
        obj = self.objects.get(Node("core", "Namespace", "-", namespace), {"metadata": {}})
        return {**obj["metadata"].get("labels", {}), "kubernetes.io/metadata.name": namespace}
