"""One policy: its refs, its spec proper, its strategy, and whether what it says makes sense (F6, F7, T2)."""

from dataclasses import dataclass
from typing import Any

from tests.reference.cluster_objects import Node, Spec, node_of
from tests.reference.kinds import GRANULARITIES, REFS, STRATEGIES, PolicyKind, direction_of
from tests.reference.merging import Tree, annotate


@dataclass(frozen=True)
class Policy:
    """A policy with its spec proper and strategy. `problem`: why it is Invalid."""

    obj: Spec
    node: Node
    spec: Any
    strategy: str
    rules: Spec
    problem: str = ""
    breadth: int = 0  # T8: of a kind with `selectors`, 0 is the widest
    is_default: bool = False  # T8: it selects everything, and its kind allows one such policy in a namespace

    def tree(self) -> Tree:
        """Its spec, merged as its kind says (F8), with itself as the origin of all leaves."""
        return annotate(self.spec, self.node, self.rules)

    @property
    def refs(self) -> list[Spec]:
        """Its target refs, as written (T1)."""
        spec = self.obj.get("spec", {})
        return [*(spec.get("targetRefs") or []), *([spec["targetRef"]] if spec.get("targetRef") else [])]

    @property
    def is_deleted(self) -> bool:
        """T5."""
        return "deletionTimestamp" in self.obj["metadata"]


class Absent:
    """What a JSON pointer to nothing gives."""


ABSENT = Absent()


def at(obj: Any, pointer: str) -> Any:
    """The value at a JSON pointer, or ABSENT."""
    for name in pointer.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(obj, dict) or key not in obj:
            return ABSENT
        obj = obj[key]
    return obj


def read_policy(kind: PolicyKind, obj: Spec) -> Policy:
    """Read a policy by the description of its kind."""
    node = node_of(obj)
    there = [entry for entry in kind.spec_paths if at(obj, entry["path"]) is not ABSENT]
    problems = []
    proper: Any = {}
    strategy = kind.default_strategy
    if there:
        proper, strategy, problem = _proper(kind, obj, there[0])
        problems.append(problem)
    if obj.get("spec", {}).get("targetRef") and obj["spec"].get("targetRefs"):
        problems.append("targetRef beside targetRefs")
    problems.append(_two_at_once(kind, obj, there))
    problem = next((problem for problem in problems if problem), "")
    breadth = _breadth(kind, obj)
    defaults = any(entry.get("namespaceDefault") for entry in kind.spec.get("selectors", []))
    return Policy(
        obj,
        node,
        proper,
        strategy,
        kind.spec.get("merge", {}),
        problem,
        breadth,
        is_default=defaults and breadth % 2 == 0,
    )


def selecting_fields(kind: PolicyKind, obj: Spec) -> list[tuple[Spec, Any]]:
    """T8: the kind's `selectors` by which a policy selects, each with its value; none of one that names targets."""
    spec, entries = obj.get("spec", {}), kind.spec.get("selectors", [])
    if not entries or spec.get("targetRefs") or spec.get("targetRef"):
        return []
    found = [(entry, value) for entry in entries if (value := at(obj, entry["path"])) is not ABSENT]
    return found or ([] if spec.get("targetSelectors") else [(entries[0], {})])


def _breadth(kind: PolicyKind, obj: Spec) -> int:
    """T8: all namespaces before one, everything there before what has labels or is named."""
    if "selectors" not in kind.spec:
        return 0
    fields = selecting_fields(kind, obj)
    chosen = not fields or any(value.get("matchLabels") or value.get("matchExpressions") for _, value in fields)
    in_one: bool = obj["metadata"].get("namespace") != kind.spec.get("rootNamespace", "-")
    return 2 * in_one + chosen


def _proper(kind: PolicyKind, obj: Spec, entry: Spec) -> tuple[Any, str, str]:
    """The spec proper at an entry, its strategy, and what is wrong with it."""
    path = entry["path"]
    value = at(obj, path)
    if not isinstance(value, dict):
        return {}, kind.default_strategy, f"{path} is not an object"
    proper = {name: inner for name, inner in value.items() if name not in _no_part(kind, obj, entry)}
    strategy, problem = _strategy(kind, obj, entry)
    return proper, strategy, problem


def _no_part(kind: PolicyKind, obj: Spec, entry: Spec) -> set[str]:
    """Fields directly below an entry's path that are not part of the spec proper."""
    names = {*entry.get("without", []), *REFS}
    if _breadth(kind, obj) % 2 == 0:
        names |= set(entry.get("withLabels", []))
    for other in kind.spec_paths:
        for pointer in (other["path"], other.get("strategyPath", "")):
            head, _, last = pointer.rpartition("/")
            if head == entry["path"] and (pointer != other["path"] or other is not entry):
                names.add(last)
    return names


def _strategy(kind: PolicyKind, obj: Spec, entry: Spec) -> tuple[str, str]:
    """F7. Returns the strategy and what is wrong with it."""
    own = str(entry.get("strategy", ""))
    chosen = at(obj, entry["strategyPath"]) if entry.get("strategyPath") else ABSENT
    if kind.is_direct or kind.is_additive:
        return kind.default_strategy, ""
    if isinstance(chosen, Absent):
        return own or kind.default_strategy, ""
    meaning = kind.spec.get("strategies", {}).get(chosen, chosen) if isinstance(chosen, str) else ABSENT
    if meaning in STRATEGIES or (meaning == "Custom" and "custom" in kind.spec):
        return str(meaning), ""
    if meaning in GRANULARITIES and chosen in kind.spec.get("strategies", {}):
        return str(meaning) + direction_of(own or str(kind.spec.get("defaultStrategy", ""))), ""
    return kind.default_strategy, f"{chosen} is no strategy"


def _two_at_once(kind: PolicyKind, obj: Spec, there: list[Spec]) -> str:
    """F6: a second wrapper, or fields beside a wrapper other than refs and strategy."""
    wrappers = [entry["path"] for entry in there if entry["path"] != "/spec"]
    if len(wrappers) > 1:
        return "two wrappers"
    if wrappers:
        strategies = {(entry.get("strategyPath") or "").removeprefix("/spec/") for entry in kind.spec_paths}
        beside = set(obj["spec"]) - {path.removeprefix("/spec/") for path in wrappers} - set(REFS) - strategies
        if beside:
            return f"{sorted(beside)} beside {wrappers[0]}"
    return ""
