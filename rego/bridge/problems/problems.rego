# METADATA
# title: Problems
# description: |
#   Problems of objects that their authors can fix, `{subject, about, reason, message}`; a set. `value` tells several with one
#   reason apart.
package bridge.problems

import data.bridge.attachment
import data.bridge.constraints
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.status as reporting

# The problems of one object: rejected refs of a policy, a policy without any effect, links that are ignored, names that no
# object can have, an invalid PolicyKind, a CRD of policies without a policy kind, a policy in an unread version, a Constraint that is not
# active.
of(key) := union({_of_policy(key), _links(key), _shared_hostnames(key), _kinds(key), grant_problems(key), _constraint(key)}) if {
	obj := lookup.get(key)
	not obj.metadata.deletionTimestamp
} else := set()

# Whether this OPA has all that decides about an object. A view has that of its targets, and of policies whose targets all
# are in it; a policy that selects its targets may select others.
is_in_view(key) if {
	not lookup.has_view
} else if {
	not kinds.of_policy(key)
	lookup.is_in_view(key)
} else if {
	verdicts := attachment.verdicts(key)
	count(verdicts) > 0
	every verdict in verdicts {
		lookup.is_in_view(verdict.ref.key)
	}
}

_of_policy(key) := of_policy(key, outcomes.tallies_of(key)) if {
	kinds.of_policy(key)
} else := set()

# The problems of a policy with these tallies: of its refs, its outcome, its status and its version.
of_policy(key, tallies) := union({_refs(key), _fate(key, tallies), _unreported(key, tallies), _version(key), _refused_values(key)})

# One problem for each ref (GEP-713, "Policy status"; semantics T1 to T5). For a kind whose description is a guess, only
# absent targets are problems: the other verdicts follow from the guess.
_refs(key) := {_problem(key, verdict.ref.key, verdict.reason, verdict.message) |
	some verdict in attachment.verdicts(key)
	verdict.reason != "Accepted"
	_is_certain(verdict, key)
}

_is_certain(verdict, _) if verdict.reason == "TargetNotFound"
_is_certain(_, key) if kinds.doubts_of(keys.type_of(key)) == []

# An accepted policy that is overridden on all paths, or has no effective target, also by its selectors (semantics S1).
# Defaults that more specific policies replace everywhere do what they are for, so this is only a warning. Of an outcome
# that is not certain only that is reported, and of a kind whose description is a guess that nothing is judged.
_fate(key, tallies) := set() if {
	policies.is_copy(key)
} else := {object.union(problem, {"value": type, "enforcementAction": "warn"}) |
	problem := _problem(key, key, "NotJudged", sprintf("conflicts and effects of %s objects are not judged: %s", [keys.parse(key).kind, concat("; ", doubts)]))
} if {
	type := keys.type_of(key)
	doubts := kinds.doubts_of(type)
	doubts != []
} else := {object.union(problem, {"enforcementAction": "warn"}) |
	problem := _problem(key, key, "Incomplete", sprintf("Its outcome is not certain: %s", [concat("; ", reasons)]))
} if {
	_is_accepted(key)
	reasons := reporting.incomplete_because(key, tallies)
} else := {object.union(_problem(key, key, condition.reason, condition.message), warning) |
	_is_accepted(key)
	some condition in reporting.outcome_conditions(key, tallies)
	condition.reason in {"Overridden", "NoScope", "Reconciling"}
	warning := {"enforcementAction": "warn" | reporting.is_replaced_default(tallies)}
}

_is_accepted(key) if count(attachment.targets(key)) > 0

# A policy that selects its targets has no refs.
_is_accepted(key) if {
	every verdict in attachment.verdicts(key) {
		verdict.reason == "Accepted"
	}
}

# The ancestors that the full status of a policy leaves out: their owners look there in vain.
_unreported(key, tallies) := {object.union(problem, {"enforcementAction": "warn"}) |
	some [object_key, _] in reporting.unreported(key, tallies)
	message := sprintf("The status of %s lists at most %d ancestors and leaves out %s, where the policy acts", [
		keys.describe(key),
		reporting.ancestor_bound,
		keys.describe(object_key),
	])
	problem := _problem(key, object_key, "AncestorNotReported", message)
} if {
	outcomes.has_ancestors(keys.type_of(key))
} else := set()

# The policies that a rule names as filters, of kinds whose policies need no target: effective policies do not have them.
_filters(key) := {object.union(problem, {"enforcementAction": "warn"}) |
	some place, rule in lookup.get(key).spec.rules
	ref := rule.filters[_].extensionRef
	policy := keys.named(ref.group, ref.kind, keys.namespace(key), ref.name)
	kinds.of_policy(policy).optionalRefs
	message := sprintf("rules[%d] of %s names %s as a filter. It takes precedence there, and effective policies don't include it", [
		place,
		keys.describe(key),
		keys.describe(policy),
	])
	problem := _problem(key, policy, "Incomplete", message)
} if {
	levels.of(key) == "Route"
} else := set()

# The same problems of all policies whose status leaves out one object.
of_ancestor(object_key) := {problem |
	some policy_kind in kinds.in_use
	some [policy, _] in reporting.unreported_at(policy_kind, object_key)
	some problem in _unreported(policy, outcomes.tallies(policy))
	problem.about == object_key
}

# The problems of routes that one backend has in common with them.
of_referrers(backend) := {_problem(keys.object_of(link.parent), link.child, link.reason, link.message) |
	levels.of(backend) == "Backend"
	some link in hierarchy.explained(hierarchy.refused_refs(backend))
}

_links(key) := of_links(key, hierarchy.explained(hierarchy.unserved_links(key))) if {
	levels.by_type[keys.parse(key).type]
} else := set()

# The problems of an object of the hierarchy that it alone declares: those that these explained links are, which no other
# listener serves, those of its listeners, hostnames and filters, and of names that no object can have.
of_links(key, links) := union({listener_problems(key), _unserved_hostnames(key), impossible_refs(key), _filters(key)}) | {object.union(_problem(key, _other(link, key), link.reason, link.message), _weight_of(link)) |
	some link in links
	not _is_of_platform(link)
}

# Platforms install their GatewayClasses, so manifests often have none, or only others: a class that is not there is a
# problem if its name is like another one's, or if a change deletes it (input `deleted`).
_is_of_platform(link) if {
	_names_class(link)
	count(_classes) == 0
	not link.parent in _deleted
}

_weight_of(link) := {"enforcementAction": "warn"} if {
	_names_class(link)
	not link.parent in _deleted
	not likeness.nearest(keys.parse(link.parent).name, _classes)
} else := {"enforcementAction": "warn"} if {
	hierarchy.names_route(link)
} else := {}

_names_class(link) if {
	link.reason == "ParentNotFound"
	startswith(link.parent, "gateway.networking.k8s.io/GatewayClass/")
}

_deleted := object.get(input, "deleted", [])

_classes := object.keys(lookup.objects_in("gateway.networking.k8s.io/GatewayClass", "-"))

_other(link, key) := link.child if link.parent == key
_other(link, key) := link.parent if link.parent != key

# Hostnames of an attached route for which it gets no requests.
_unserved_hostnames(key) := {object.union(_problem(key, key, "NoMatchingListenerHostname", message), {"value": name, "enforcementAction": "warn"}) |
	some name in hierarchy.unserved_hostnames(key)
	message := sprintf("no listener that accepts %s serves its hostname %s", [keys.describe(key), name])
} if {
	levels.of(key) == "Route"
} else := set()

_hostnames("*") := "all hostnames"
_hostnames(name) := sprintf("hostname %s", [name]) if name != "*"

# A GRPCRoute and an HTTPRoute that have a hostname in common at a listener: up to Gateway API 1.6 an implementation accepts
# the older one alone (GRPCRouteSpec.hostnames), and those that are known accept both.
_shared_hostnames(key) := {object.union(_problem(key, other, "SharedHostname", message), {"value": name, "enforcementAction": "warn"}) |
	some node in hierarchy.parents(key)
	not keys.is_frontend(node)
	hierarchy.implementation(hierarchy.gateway_of_listeners(keys.parse(node).object)).name == "Gateway API"
	some name in array.concat(hostnames, ["*" | hostnames == []])
	some other in index.routes_with_hostname(keys.parse(node).object, name)
	keys.type_of(other) == "gateway.networking.k8s.io/HTTPRoute"
	node in hierarchy.parents(other)
	[_, _, older] := min({[lookup.age(one), keys.alphabetical(one), one] | some one in [key, other]})
	message := sprintf("%s and %s have %s in common at %s. Implementations of Gateway API up to 1.6 accept only the older route, %s", [
		keys.describe(key),
		keys.describe(other),
		_hostnames(name),
		keys.describe(node),
		keys.describe(older),
	])
} if {
	keys.type_of(key) == "gateway.networking.k8s.io/GRPCRoute"
	hostnames := index.facts(key).hostnames
} else := set()

# Values of a policy that its controller refuses, and without which it would act as it does now.
_refused_values(key) := {_problem(key, key, "Invalid", message) | some message in policies.problems(lookup.get(key))}

# A policy in a version that its CRD does not serve, or that has other fields than the one that is read (semantics K7).
_version(key) := {_problem(key, key, found.reason, found.message) |
	found := kinds.version_problem(keys.type_of(key), lookup.api_version(key))
}

# A policy that no policy kind describes, the CRD of such policies, a PolicyKind that is not active (semantics K6).
_kinds(key) := ((({_problem(key, key, "NotDescribed", kinds.undescribed_message(keys.type_of(key))) |
	kinds.is_undescribed(key, lookup.get(key))
} | {_problem(key, key, verdict.reason, verdict.message) |
	keys.parse(key).type == kinds.policykind_type
	verdict := kinds.verdict(key)
	verdict.status == "False"
}) | {_problem(key, key, "UnknownKind", message) |
	keys.parse(key).type == kinds.policykind_type
	some message in kinds.doubts[key]
}) | {_problem(key, key, "NotDescribed", kinds.undescribed_crds[key]) |
	keys.parse(key).type == kinds.crd_type
	kinds.undescribed_crds[key]
}) | {_problem(key, key, "UnknownField", message) |
	keys.parse(key).type == kinds.crd_type
	some message in kinds.preset_doubts[key]
}

# A Constraint that is invalid, whose policy is not loaded or can never match, or that selects none of the objects here.
_constraint(key) := {_problem(key, key, condition.reason, condition.message) | condition.status != "True"} | {warning |
	condition.status == "True"
	some place, message in constraints.unmatched(constraints.active_constraints[name])
	warning := object.union(_problem(key, key, "SelectsNothing", message), {"enforcementAction": "warn", "value": place})
} if {
	keys.type_of(key) == constraints.type
	name := keys.parse(key).name
	condition := constraints.report(name, null, null).condition
} else := set()

_problem(key, about, reason, message) := {"subject": key, "about": about, "reason": reason, "message": message}
