"""Custom strategies (F9): what the rules of admins that tests load would return, and whose the leaves of that are."""

from collections.abc import Callable
from typing import Any

from tests.reference.cluster_objects import Node, Spec
from tests.reference.merging import Leaf, Tree, below, origins, with_tombstones


def sums(established: Spec, challenger: Spec) -> Spec:
    """Numbers of both sides are added; of anything else the challenger's is taken."""
    both = {
        name: established[name] + challenger[name]
        for name in established.keys() & challenger.keys()
        if _is_number(established[name]) and _is_number(challenger[name])
    }
    return {**established, **challenger, **both}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


STRATEGIES: dict[str, Callable[[Spec, Spec], Spec]] = {"sums": sums}
REGO = {
    "sums": """
package bridge.strategies.sums

result := {"spec": object.union_n([only_established, input.challenger.spec, both])}

only_established := object.remove(input.established.spec, object.keys(input.challenger.spec))

both := {name: sum([value, other]) |
	some name, value in input.established.spec
	other := input.challenger.spec[name]
	is_number(value)
	is_number(other)
}
""".lstrip()
}


def merge(name: str, established: Tree, challenger: Tree) -> Tree:
    """The result of a custom strategy for two sides.

    A leaf belongs to the side that holds an equal value there, the challenger first, else to both: to the policies of
    their leaves there, or to all of them where they have none.
    """
    sides = [(with_tombstones(side), origins(side)) for side in (challenger, established)]
    return _owned(STRATEGIES[name](sides[1][0], sides[0][0]), sides, "")


def _owned(value: Any, sides: list[tuple[Any, dict[str, tuple[Node, ...]]]], pointer: str) -> Tree:
    if isinstance(value, dict) and value:
        return {name: _owned(inner, sides, below(pointer, name)) for name, inner in value.items()}
    for spec, owners in sides:
        if pointer in owners and _at(spec, pointer) == value:
            return Leaf(value, owners[pointer], adds_nothing=value == {})
    there = {node for _, owners in sides for node in owners.get(pointer, ())}
    everyone = {node for _, owners in sides for nodes in owners.values() for node in nodes}
    return Leaf(value, tuple(sorted(there or everyone, key=str)), adds_nothing=value == {})


def _at(spec: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        spec = spec[step.replace("~1", "/").replace("~0", "~")]
    return spec
