"""PolicyKinds with their defaults filled in (design, Policy kinds)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.reference.cluster_objects import Cluster, Node, Spec, group_of, has_sections

GRANULARITIES = ("Atomic", "Patch")
STRATEGIES = ("AtomicDefaults", "PatchDefaults", "AtomicOverrides", "PatchOverrides")  # in GEP-713's order
REFS = ("targetRefs", "targetRef", "targetSelectors")


@dataclass
class PolicyKind:
    """An active policy kind."""

    group: str
    kind: str
    spec: Spec
    all_kinds: list[PolicyKind] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """`<group>/<Kind>` (K1)."""
        return f"{self.group}/{self.kind}"

    @property
    def is_direct(self) -> bool:
        """The class (C1, C2)."""
        return bool(self.spec.get("class", "Inherited") == "Direct")

    @property
    def effective_target(self) -> str:
        """The level that it acts at."""
        return str(self.spec.get("effectiveTarget", "Target"))

    def entry(self, group: str, kind: str) -> Spec | None:
        """The entry of `targets` for a kind of objects; with none at all any kind will do."""
        if "targets" not in self.spec:
            return {"group": group, "kind": kind, "sections": has_sections(group, kind)}
        for entry in self.spec["targets"]:
            if (group_of(entry.get("group", "")), entry["kind"]) == (group, kind):
                return dict(entry)
        return None

    def is_frontend(self, group: str, kind: str) -> bool:
        """K4: whether Services are targeted as mesh frontends."""
        entry = self.entry(group, kind)
        if entry is None or (group, kind) != ("core", "Service"):
            return False
        backend = self.effective_target in {"Backend", "Port", "Target"}
        return bool(entry.get("role", "Backend" if backend else "Frontend") == "Frontend")

    def in_its_role(self, node: Node) -> Node:
        """The node that a policy means that names this one."""
        return node._replace(role="frontend") if self.is_frontend(node.group, node.kind) else node

    def may_target(self, group: str, kind: str) -> bool:
        """Whether a policy may name objects of this kind."""
        return self.entry(group, kind) is not None

    def may_target_sections(self, group: str, kind: str) -> bool:
        """Whether a policy may name sections of such objects. A frontend is whole: ports are below a backend."""
        entry = None if self.is_frontend(group, kind) else self.entry(group, kind)
        return entry is not None and bool(entry.get("sections")) and has_sections(group, kind)

    def counts_at_its_level(self, node: Node, level_of: Callable[[Node], str]) -> bool:
        """P5: the target kinds of that level, else all."""
        if "targets" not in self.spec:
            return True
        # A kind whose sections are at that level is a target kind of that level: an HTTPRoute's sections are rules.
        targets = {
            (group_of(entry.get("group", "")), entry["kind"])
            for entry in self.spec["targets"]
            if self.effective_target in self._levels(entry, level_of)
        }
        return not targets or (node.group, node.kind) in targets

    def _levels(self, entry: Spec, level_of: Callable[[Node], str]) -> set[str]:
        node = Node(group_of(entry.get("group", "")), entry["kind"], "x", "x")
        if self.is_frontend(node.group, node.kind):
            return {"Frontend"}
        levels = {level_of(node)}
        if has_sections(node.group, node.kind):
            levels.add(level_of(node._replace(section="x")))
        return levels

    @property
    def default_strategy(self) -> str:
        """The strategy of a policy that names none."""
        if self.is_additive:
            return "Additive"
        if self.is_direct:
            return "None"
        if "defaultStrategy" in self.spec:
            return str(self.spec["defaultStrategy"])
        supported = {entry.get("strategy") for entry in self.spec_paths}
        for value in self.spec.get("strategies", {}).values():
            # A granularity goes with the direction of each wrapper, and of a bare spec with defaults (F7).
            if value in GRANULARITIES:
                supported |= {value + direction_of(entry.get("strategy") or "") for entry in self.spec_paths}
            else:
                supported.add(value)
        return next((name for name in STRATEGIES if name in supported), "AtomicDefaults")

    @property
    def spec_paths(self) -> list[Spec]:
        """Where the spec proper is."""
        return list(self.spec.get("specPaths") or [{"path": "/spec"}])

    def option(self, name: str, default: str) -> str:
        """A field of the PolicyKind with its default."""
        return str(self.spec.get(name, default))

    @property
    def crosses(self) -> str:
        """What makes a ref to another namespace count: a ReferenceGrant, being a Consumer's, or nothing (Forbidden)."""
        return self.option("crossNamespace", "Forbidden")

    @property
    def same_level(self) -> str:
        """F5."""
        if self.is_additive:
            return "OlderEstablished"
        return self.option("sameLevel", "Conflict" if self.is_direct else "OlderEstablished")

    @property
    def is_additive(self) -> bool:
        """C4: whether all policies apply, none of them merged."""
        return self.option("defaultStrategy", "") == "Additive"

    def rank(self, obj: Spec) -> list[tuple[int, Any]]:
        """C4: by what `order` lists a policy."""
        return [_rank(entry, obj) for entry in self.spec.get("order", [])]


def _rank(entry: Spec, obj: Spec) -> tuple[int, Any]:
    """The place of a policy by one entry of `order`: those with a value that the entry can place come first."""
    value: Any = obj
    for name in entry["path"].split("/")[1:]:
        value = value.get(name, entry.get("default")) if isinstance(value, dict) else entry.get("default")
    if "values" in entry:
        places = [place for place, other in enumerate(entry["values"]) if [type(value), value] == [type(other), other]]
        return (0, places[0]) if places else (1, 0)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if entry.get("descending"):
        return (0, -value) if is_number else (1, 0)
    return (1, 0) if value is None else (0, value)


def direction_of(strategy: str) -> str:
    """Whether a strategy makes defaults or overrides; defaults where that is not said."""
    return "Overrides" if strategy.endswith("Overrides") else "Defaults"


def kinds_in(cluster: Cluster) -> list[PolicyKind]:
    """What PolicyKind objects describe, all of which must make sense; of two for one kind the older (K1)."""
    found: dict[tuple[str, str], PolicyKind] = {}
    for obj in sorted(cluster.of_kind("policybridge.io", "PolicyKind"), key=age):
        spec: dict[str, Any] = obj["spec"]
        kind = PolicyKind(group_of(spec.get("group", "")), spec["kind"], spec)
        found.setdefault((kind.group, kind.kind), kind)
    kinds = list(found.values())
    for kind in kinds:
        kind.all_kinds = kinds
    return kinds


def age(obj: Spec) -> tuple[str, str]:
    """F1, rules 2 and 3: older first, then `namespace/name`. Without a creationTimestamp an object is the youngest."""
    metadata = obj["metadata"]
    return (metadata.get("creationTimestamp") or "9999", f"{metadata.get('namespace', '')}/{metadata['name']}")
