"""The reference's answers: effective policies of every effective target, and the status of every policy."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.reference.attachment import ACCEPTED, Attachment, attachments_of
from tests.reference.cluster_objects import Cluster, Node, Spec
from tests.reference.folding import Place, fold, ordered
from tests.reference.hierarchy import Path, effective_targets, is_of_class, level_of, paths_to
from tests.reference.kinds import PolicyKind, kinds_in
from tests.reference.merging import origins, plain
from tests.reference.outcomes import conditions, outcome_of
from tests.reference.policies import Policy, read_policy


@dataclass
class Answers:
    """All texts are keys. `effective` by source namespace, policy kind and path; `verdicts` by policy, one a ref."""

    effective: dict[tuple[str, str, tuple[str, ...]], dict[str, Any]]
    verdicts: dict[str, list[str]]
    conditions: dict[str, dict[str, str]]


def answer(objects: list[Spec]) -> Answers:
    """Everything that follows from these objects."""
    cluster = Cluster.of(objects)
    answers = Answers({}, {}, {})
    for kind in kinds_in(cluster):
        policies = [read_policy(kind, obj) for obj in cluster.of_kind(kind.group, kind.kind)]
        attachments = attachments_of(cluster, kind, policies)
        outcomes: dict[str, list[str]] = {str(policy.node): [] for policy in policies}
        # O4 counts all paths: those of P6, that exist for requests from one namespace alone, too.
        for source, target in product(["", *cluster.namespaces()], effective_targets(cluster, kind)):
            counting = [attachment for attachment in attachments if attachment.counts_for(kind, source)]
            for path in paths_to(cluster, target, kind, source):
                found = effective_policy(cluster, kind, counting, path)
                if found and is_effective(kind, found, target):
                    answers.effective[source, kind.name, tuple(map(str, path))] = found
                    for entry in found["policies"]:
                        outcomes[entry["policy"]].append(entry["outcome"])
        for policy in policies:
            verdicts = [attachment.verdict for attachment in attachments if attachment.policy is policy]
            answers.verdicts[str(policy.node)] = verdicts
            if not policy.is_deleted:
                answers.conditions[str(policy.node)] = conditions(kind, verdicts, outcomes[str(policy.node)])
    return answers


def is_effective(kind: PolicyKind, found: dict[str, Any], target: Node) -> bool:
    """Where an Inherited kind acts at its declared targets, one of its policies names the target (decision 28)."""
    declared = kind.effective_target == "Target" and not kind.is_direct
    return not declared or str(target) in found["places"]


def effective_policy(
    cluster: Cluster, kind: PolicyKind, attachments: list[Attachment], path: Path
) -> dict[str, Any] | None:
    """The effective policy at the end of a path; None if the path has no policy."""
    places = [
        (level, policy)
        for level, node in enumerate(path)
        for policy in _unique(
            attachment.policy
            for attachment in attachments
            if attachment.verdict == ACCEPTED and attachment.target == node and not attachment.policy.is_deleted
            if is_of_class(cluster, kind, path, attachment.class_name)
        )
    ]
    if not places:
        return None
    if kind.is_additive:
        return _listed(kind, path, places)
    found = fold(kind, places, [level_of(node) or node.kind for node in path])
    listed: dict[Node, dict[str, Any]] = {}
    for level, policy in ordered(places):
        if policy.node not in listed:  # P4: once, and where it stands highest, as the list is in that order
            outcome, by = outcome_of(policy, found)
            listed[policy.node] = {
                "policy": str(policy.node),
                "target": str(path[level]),
                "strategy": policy.strategy,
                "outcome": outcome,
                "overriddenBy": [str(winner) for winner in by],
            }
    return {
        "spec": plain(found.tree),
        "origins": {pointer: _origin(policies) for pointer, policies in origins(found.tree).items()},
        "policies": list(listed.values()),
        "places": {str(path[level]) for level, _ in places},
    }


def _listed(kind: PolicyKind, path: Path, places: list[Place]) -> dict[str, Any]:
    """C4: the specs one beside the other, by the kind's order and then from the top; all policies are Programmed."""
    first: dict[Node, Place] = {}
    for place in ordered(places):
        first.setdefault(place[1].node, place)
    items = sorted((policy for _, policy in first.values()), key=lambda policy: kind.rank(policy.obj))
    return {
        "spec": [policy.spec for policy in items],
        "origins": {f"/{number}": str(policy.node) for number, policy in enumerate(items)},
        "policies": [
            {
                "policy": str(policy.node),
                "target": str(path[level]),
                "strategy": policy.strategy,
                "outcome": "Programmed",
                "overriddenBy": [],
            }
            for level, policy in first.values()
        ],
        "places": {str(path[level]) for level, _ in places},
    }


def _origin(policies: tuple[Node, ...]) -> str | list[str]:
    """A key, or a sorted list of several."""
    return sorted(map(str, policies)) if len(policies) > 1 else str(policies[0])


def _unique(policies: Any) -> list[Policy]:
    """Two refs of one policy to one target count once."""
    return list({policy.node: policy for policy in policies}.values())
