"""The outcome of each policy: at a path (O1 to O3), over all paths (O4), and its conditions (S1, S2)."""

from tests.reference.cluster_objects import Node
from tests.reference.folding import Fold
from tests.reference.kinds import PolicyKind
from tests.reference.merging import leaves
from tests.reference.policies import Policy

PROGRAMMED, PARTIALLY, OVERRIDDEN = "Programmed", "PartiallyProgrammed", "Overridden"


def outcome_of(policy: Policy, fold: Fold) -> tuple[str, list[Node]]:
    """The outcome at a path that has this fold, and the policies that override this one there."""
    origins = leaves(fold.tree)
    own = set(leaves(policy.tree()))
    kept = {pointer for pointer in own if origins.get(pointer) == (policy.node,)}
    shared = {node for nodes in origins.values() if policy.node in nodes for node in nodes} - {policy.node}
    if kept == own and not shared:
        return PROGRAMMED, []
    can_win = fold.winners.get(policy.node, set())
    everyone = {node for nodes in origins.values() for node in nodes}
    within: dict[str, set[Node]] = {}  # the owners of leaves at and below each pointer
    for pointer, nodes in origins.items():
        for above in at_and_above(pointer):
            within.setdefault(above, set()).update(nodes)
    by, left = set(shared), False
    for pointer in own - kept:
        around = {node for above in at_and_above(pointer) for node in origins.get(above, ())}
        there = (around | within.get(pointer, set())) & can_win
        by |= there
        left |= not there and pointer not in origins
    if left or not by:  # a policy that excluded this one as a whole, or else any, took it away
        by |= fold.ordered & fold.winners.atomic.get(policy.node, set()) or everyone & can_win
    return (PARTIALLY if kept or shared else OVERRIDDEN), sorted(by, key=str)


def at_and_above(pointer: str) -> set[str]:
    """A JSON pointer, and all that contain it."""
    names = pointer.split("/")
    return {"/".join(names[:end]) for end in range(1, len(names) + 1)}


def overall(outcomes: list[str]) -> str:
    """O4."""
    if not outcomes:
        return "NoScope"
    return outcomes[0] if len(set(outcomes)) == 1 else PARTIALLY


def conditions(kind: PolicyKind, verdicts: list[str], outcomes: list[str]) -> dict[str, str]:
    """By condition type `status/reason`."""
    if "Accepted" not in verdicts:
        return {"Accepted": f"False/{verdicts[0] if verdicts else 'Invalid'}"}
    result = overall(outcomes)
    found = {"Accepted": "True/Accepted"}
    if kind.option("conditions", "Programmed") == "Programmed":
        holds = result in {PROGRAMMED, PARTIALLY}
        return found | {"Programmed": f"{holds}/{result}"}
    named = {  # S2
        PROGRAMMED: {"Enforced": "True/Enforced"},
        PARTIALLY: {"PartiallyEnforced": "True/PartiallyEnforced"},
        OVERRIDDEN: {"Overridden": "True/Overridden"},
        "NoScope": {"Enforced": "False/NoScope"},
    }
    return found | named[result]
