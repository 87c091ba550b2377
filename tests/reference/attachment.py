"""Which refs of which policies count, and why the others do not (T1 to T5, F5)."""

from dataclasses import dataclass, replace

from tests.reference.cluster_objects import CLUSTER_SCOPED, Cluster, Node, Spec, group_of
from tests.reference.gateway_api import is_granted, selects
from tests.reference.kinds import PolicyKind, age
from tests.reference.listeners import shares_port
from tests.reference.merging import leaves
from tests.reference.policies import Policy, selecting_fields

ACCEPTED, INVALID, NOT_FOUND, CONFLICTED = "Accepted", "Invalid", "TargetNotFound", "Conflicted"
NOTHING = "[nothing]"  # a section that no object has


@dataclass(frozen=True)
class Attachment:
    """One ref of one policy: what it names (if that is known), and the verdict."""

    policy: Policy
    target: Node
    verdict: str
    class_name: str = ""

    def counts_for(self, kind: PolicyKind, source_namespace: str) -> bool:
        """P6: under `crossNamespace: Consumer` a ref to another namespace counts for requests from the policy's own."""
        return requests_of(kind, self.policy, self.target) in {"", source_namespace}


def requests_of(kind: PolicyKind, policy: Policy, target: Node) -> str:
    """From which namespace the requests are that a policy on a target counts for; empty: from any (P6)."""
    crosses = "-" not in {policy.node.namespace, target.namespace} and policy.node.namespace != target.namespace
    return policy.node.namespace if crosses and kind.crosses == "Consumer" else ""


def attachments_of(cluster: Cluster, kind: PolicyKind, policies: list[Policy]) -> list[Attachment]:
    """Every ref of every policy of a kind, oldest policies first."""
    found: list[Attachment] = []
    for policy in sorted(policies, key=lambda policy: age(policy.obj)):
        for ref in policy.refs + _selected(cluster, kind, policy) + _selected_by_fields(cluster, kind, policy):
            if "reason" in ref:
                nothing = policy.node._replace(section=NOTHING)  # a kind may target all kinds, its own too
                found.append(Attachment(policy, nothing, ref["reason"]))
                continue
            target = _target(cluster, policy, ref)
            verdict = _judge(cluster, kind, policy, ref, target)
            if verdict == ACCEPTED:
                target = kind.in_its_role(target)
                if not policy.is_deleted and _loses(kind, policy, target, found):
                    verdict = CONFLICTED
            found.append(Attachment(policy, target, verdict, ref.get("className", "")))
    if kind.same_level == "ConflictOnOverlap":
        conflicted = {one.policy.node for one in found if one.verdict == CONFLICTED}  # F5: at one target, so at all
        found = [
            replace(one, verdict=CONFLICTED) if one.verdict == ACCEPTED and one.policy.node in conflicted else one
            for one in found
        ]
    return [
        replace(one, verdict=INVALID) if one.verdict == ACCEPTED and _leaves_out_listeners(cluster, kind, one) else one
        for one in found
    ]


def _leaves_out_listeners(cluster: Cluster, kind: PolicyKind, one: Attachment) -> bool:
    """T2, F5: such a ref is Invalid, and keeps younger policies off its target nevertheless."""
    entry = kind.entry(one.target.group, one.target.kind) or {}
    return bool(entry.get("wholePorts")) and shares_port(cluster, one.target)


def _selected(cluster: Cluster, kind: PolicyKind, policy: Policy) -> list[Spec]:
    """T1, T8: what `targetSelectors` select, as refs: in the own namespace, from the root namespace everywhere.

    Without anything selected, the `reason` of that.
    """
    found: list[Spec] = []
    everywhere = policy.node.namespace == kind.spec.get("rootNamespace")
    for selector in policy.obj.get("spec", {}).get("targetSelectors") or []:
        group, object_kind = group_of(selector.get("group", "")), selector["kind"]
        if not kind.may_target(group, object_kind) or "sectionName" in selector:
            found.append({"reason": INVALID})
            continue
        if ((group, object_kind) in CLUSTER_SCOPED) != (policy.node.namespace == "-") and not everywhere:  # T3
            found.append({"reason": INVALID})
            continue
        selected = [
            {
                "group": group,
                "kind": object_kind,
                "namespace": node.namespace,
                "name": node.name,
                "selected": everywhere,
            }
            for node, obj in sorted(cluster.objects.items())
            if (node.group, node.kind) == (group, object_kind)
            and (everywhere or node.namespace == policy.node.namespace)
            and selects(selector, obj["metadata"].get("labels", {}))
        ]
        found += selected or [{"reason": INVALID if policy.problem else NOT_FOUND}]
    return found


def _selected_by_fields(cluster: Cluster, kind: PolicyKind, policy: Policy) -> list[Spec]:
    """T8: what a policy selects by fields of its kind, as refs; else the `reason` of having none."""
    fields = selecting_fields(kind, policy.obj)
    in_root = policy.node.namespace == kind.spec.get("rootNamespace")
    found: list[Spec] = []
    for entry, value in fields:
        narrow = value.get("matchLabels") or value.get("matchExpressions")
        everywhere = policy.node.namespace == "-" or (in_root and not (narrow and entry.get("namespaceDefault")))
        for target in entry["targets"]:
            group, object_kind = group_of(target.get("group", "")), target["kind"]
            if (group, object_kind) in CLUSTER_SCOPED and not everywhere:
                found.append({"reason": INVALID})  # T3
                continue
            found += [
                {"group": group, "kind": object_kind, "namespace": node.namespace, "name": node.name, "selected": True}
                for node, obj in sorted(cluster.objects.items())
                if (node.group, node.kind) == (group, object_kind)
                and (everywhere or node.namespace == policy.node.namespace)
                and selects(value, obj["metadata"].get("labels", {}))
            ]
    named = bool(policy.obj.get("spec", {}).get("targetSelectors"))
    if fields and not found and not named:
        found.append({"reason": INVALID if policy.problem else ACCEPTED})
    return found


def _target(cluster: Cluster, policy: Policy, ref: Spec) -> Node:
    group, kind = group_of(ref.get("group", "")), ref["kind"]
    namespace = "-" if (group, kind) in CLUSTER_SCOPED else ref.get("namespace") or policy.node.namespace
    return Node(group, kind, namespace, ref["name"], ref.get("sectionName", ""))


def _judge(cluster: Cluster, kind: PolicyKind, policy: Policy, ref: Spec, target: Node) -> str:
    """One ref by itself. Verdicts that need no other objects are first: nothing leaks (T2)."""
    if policy.problem or not kind.may_target(target.group, target.kind):
        return INVALID
    if target.section and (
        not kind.may_target_sections(target.group, target.kind) or target.section.startswith("[")  # K3
    ):
        return INVALID
    if not _scope_fits(kind, policy, ref, target):
        return INVALID
    crosses = target.namespace not in {"-", policy.node.namespace}
    everywhere = policy.node.namespace in {"-", kind.spec.get("rootNamespace")}
    needs_grant = crosses and not everywhere and kind.crosses == "ReferenceGrant"
    if needs_grant and not is_granted(cluster, policy.node, target):
        return NOT_FOUND
    if target.whole not in cluster.objects or (target.section and not cluster.has_section(target)):
        return NOT_FOUND
    return ACCEPTED


def _scope_fits(kind: PolicyKind, policy: Policy, ref: Spec, target: Node) -> bool:
    if policy.node.namespace == "-":  # T3: it must name the namespace
        return target.namespace != "-" or (target.group, target.kind) in CLUSTER_SCOPED
    if ref.get("selected"):  # T8
        return True
    if target.namespace == "-":  # T3: none but its own Namespace
        return policy.node.namespace == kind.spec.get("rootNamespace") or (target.group, target.kind, target.name) == (
            "core",
            "Namespace",
            policy.node.namespace,
        )
    return target.namespace == policy.node.namespace or kind.crosses != "Forbidden"


def _loses(kind: PolicyKind, policy: Policy, target: Node, older: list[Attachment]) -> bool:
    """F5, Conflict and ConflictOnOverlap: against refs of older policies to the same target that did not lose."""
    rivals = [
        other.policy
        for other in older
        if (other.verdict, other.target) == (ACCEPTED, target)
        and not other.policy.is_deleted
        and other.policy.node != policy.node
        # P6: a policy for the requests of one namespace must not take a target from policies for all requests. F5
        # does not state this; the other reading lets any older consumer take a producer's target away.
        and requests_of(kind, other.policy, target) == requests_of(kind, policy, target)
    ]
    if policy.is_default and any(
        other.policy.is_default
        and not other.policy.is_deleted
        and other.verdict == ACCEPTED
        and other.policy.node.namespace == policy.node.namespace
        and other.policy.node != policy.node
        for other in older
    ):
        return True  # T8, namespaceDefault
    if kind.same_level == "Conflict":
        return bool(rivals)
    return kind.same_level == "ConflictOnOverlap" and any(_overlap(policy, rival) for rival in rivals)


def _overlap(policy: Policy, rival: Policy) -> bool:
    """F5 says "equals or contains"; whichever of the two contains the other, both cannot hold, so either way counts."""
    return any(
        mine == theirs or theirs.startswith(f"{mine}/") or mine.startswith(f"{theirs}/")
        for mine in leaves(policy.tree())
        for theirs in leaves(rival.tree())
    )
