"""What became of each policy: at a path (O1 to O3), over all paths (O4), and its conditions (S1, S2)."""

from __future__ import annotations

from tests.reference.kinds import PolicyKind
from tests.reference.merging import Tree, leaves
from tests.reference.objects import Node
from tests.reference.policies import Policy

PROGRAMMED, PARTIALLY, OVERRIDDEN = "Programmed", "PartiallyProgrammed", "Overridden"


def outcome_of(policy: Policy, effective: Tree) -> tuple[str, list[Node]]:
    """The outcome at a path with this effective spec, and who overrides it there."""
    origins = leaves(effective)
    own = set(leaves(policy.whole))
    lost = {pointer for pointer in own if origins.get(pointer) != policy.node}
    if not lost:
        return PROGRAMMED, []
    winners = {
        winner
        for pointer, winner in origins.items()
        if any(pointer == gone or pointer.startswith(f"{gone}/") for gone in lost)
    }
    by = sorted((winners or set(origins.values())) - {policy.node}, key=str)
    return (OVERRIDDEN if lost == own else PARTIALLY), by


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
