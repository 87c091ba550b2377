package bridge.v1

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.queries
import data.bridge.status as reporting

# METADATA
# description: |
#   `status`: the desired conditions or ancestors of each of `policies`, with the condition `types` that the bridge sets
#   and removes. `tallies` are counts by policy; by default the policy's outcomes are computed. A PolicyKind has a
#   status too. Deleted objects, and those being deleted, have none.
# entrypoint: true
status := problem if {
	problem := queries.problem([["policies", "keys"]])
} else := [entry |
	some policy in input.policies
	entry := _status_of(policy, _tallies(policy))
]

_tallies(policy) := object.get(input.tallies, policy, []) if input.tallies
_tallies(policy) := outcomes.tallies(policy) if not input.tallies

# The desired status of a policy or a PolicyKind. Undefined if it is deleted or being deleted.
_status_of(policy, tallies) := reporting.of_policy(policy, tallies) if {
	_alive(policy)
	kinds.of_policy(policy)
} else := {"policy": policy, "policyKind": kinds.policykind_type, "mode": "Manage", "conditions": [condition], "types": ["Accepted"]} if {
	keys.parse(policy).type == kinds.policykind_type
	_alive(policy)
	condition := reporting.with_generation(policy, object.union(kinds.verdict(policy), {"type": "Accepted"}))
}

_alive(key) if {
	obj := lookup.get(key)
	not obj.metadata.deletionTimestamp
}

# METADATA
# description: |
#   `affected`: the desired conditions of each of `objects` that policies affect, `{object, types, controllers,
#   conditions?, listeners?, parents?, annotations?}`: one part for each place of its type. `types` are all condition
#   types and annotations that the bridge sets and removes; `former` are former policy kinds, `{controllerName, kind}`,
#   whose types are included. `affectedBy` and `unreported` have by object, policy kind and place the policies that act
#   there and those whose full list omits it; by default they are computed.
# entrypoint: true
affected := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := [_affected_status_of(key, _affecting_policies(key), _unreported_policies(key)) |
	some key in input.objects
	lookup.get(key)
]

_affecting_policies(key) := object.get(input.affectedBy, key, {}) if input.affectedBy
_affecting_policies(key) := reporting.affecting_policies(key) if not input.affectedBy

_unreported_policies(key) := object.get(input, ["unreported", key], {}) if input.affectedBy
_unreported_policies(key) := reporting.unreported_policies(key) if not input.affectedBy

# METADATA
# description: |
#   `current_statuses`: the current `{status, annotations, resourceVersion}` of each of `objects`, by key; deleted
#   objects are absent.
# entrypoint: true
current_statuses := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := {key: _current_status(lookup.get(key)) | some key in input.objects}

# METADATA
# description: |
#   `marked_objects`: the objects that have a condition or an annotation of the bridge in any place, including those of
#   the policy kinds in `former`. It scans all objects, and is meant for one query after each full sync and after a
#   changed policy kind.
# entrypoint: true
marked_objects := {key |
	types := reporting.our_types(queries.former_kinds)
	some group, kind, namespace, name
	obj := data.objects[group][kind][namespace][name]
	reporting.shows_any(obj, types)
	key := concat("/", [group, kind, namespace, name])
}

# METADATA
# description: |
#   `remediation`: the results that the remediator needs after a small change of the objects `keys`, in one query: the
#   result of `dependents` with `outcomes`, `{policyKind: {target: rows}}` for its scopes and for `targets`
#   (`{policyKind: [targets]}`, computed before at `keys`), and with `reports`, as in the query `reports`. Targets
#   without rows are omitted, and policy kinds in mode Observe unless `observed`. A change of more than `most` targets,
#   or of targets with too many paths, has neither outcomes nor reports. `kept` has tallies by policy without the rows
#   at `targets`; the new rows are added to these. Any other policy has a report if the change covers all its targets,
#   and an object if that is true of each policy that targets it. An item of `keys` without a desired status, such as a
#   deleted one, has a report without `desired`.
# entrypoint: true
remediation := dependents if {
	dependents.error
} else := dependents if {
	sum([count(targets) | some targets in _remediated]) > object.get(input, "most", 1000)
} else := dependents if {
	sum([paths_to(kind, targets) | some kind, targets in _remediated]) > hierarchy.paths_bound
} else := object.union(dependents, {
	"outcomes": _outcomes,
	"reports": array.flatten([_reports_of_policies, _reports_of_objects, _empty_reports]),
})

_remediated[kind] contains target if {
	some scopes in [dependents.scopes, object.get(input, "targets", {})]
	some kind, targets in scopes
	_is_counted(kind)
	some target in targets
}

_is_counted(kind) if kinds.get(kind).mode == "Manage"

_is_counted(kind) if {
	kinds.get(kind)
	input.observed
}

_outcomes[kind][target] := entries if {
	some kind, targets in _remediated
	some target, entries in outcomes_at(kind, targets)
	count(entries) > 0
}

_all_outcomes contains entry if {
	some by_target in _outcomes
	some entries in by_target
	some entry in entries
}

_reports_of_policies := [item_report |
	some policy in sort({policy | some policy in dependents.policies} | object.keys(_kept))
	_may_be_written(policy)
	item_report := _report(["policy", policy], _status_to_write(_status_of(policy, _tallies_of(policy))))
]

# Nothing is counted for other policies: one of them may reach all of a cluster.
_may_be_written(policy) if kinds.of_policy(policy).mode == "Manage"
_may_be_written(key) if keys.type_of(key) == kinds.policykind_type

_kept := object.get(input, "kept", {})

_tallies_of(policy) := array.concat(_kept[policy], [{
	"ancestor": entry.ancestor,
	"targets": entry.targets,
	"outcome": entry.outcome,
	"by": entry.by,
	"count": 1,
	"examples": [entry.scope],
} |
	some entry in _all_outcomes
	entry.policy == policy
])

_tallies_of(policy) := outcomes.tallies(policy) if {
	not _kept[policy]
	_is_covered(policy)
}

# The targets that a policy selects by fields of its kind are not listed: they may be all workloads of a cluster.
_is_covered(policy) if {
	policy in _changed_policies
} else if {
	not policies.selects_by_fields(policy)
	every ref in policies.declared_refs(policy) {
		_is_covered_ref(ref)
	}
}

_is_covered_ref(ref) if ref.object in dependents.objects
_is_covered_ref(ref) if count({ref.key, ref.object} & _declared_keys) > 0

_declared_keys := {ref.key | some policy in _changed_policies; some ref in policies.declared_refs(policy)}

_changed_policies := {key | some key in input.keys; kinds.of_policy(key)}

# Omitted ancestors are not listed here: the caller knows them.
_reports_of_objects := [item_report |
	some key in sort(_marked_objects)
	every policy in _marking_policies(key) {
		_is_covered(policy)
	}
	item_report := _report(["object", key], _affected_status_of(key, reporting.affecting_policies(key), {}))
]

_marking_policies(key) := {policy |
	some policy in attachment.permitted_policies_targeting(key)
	kinds.sets.managed[keys.type_of(policy)]
}

_marked_objects contains key if some key in input.keys

_marked_objects contains key if {
	some policy in _changed_policies
	some ["targeted", key] in input.was[policy]
}

# A new policy marks objects that it did not mark before.
_marked_objects contains key if {
	some entry in _all_outcomes
	entry.policy in _changed_policies
	not input.was[entry.policy]
	some [key, _] in entry.marks
}

_empty_reports := [{"item": [what, key]} |
	some key in input.keys
	some what in ["policy", "object"]
	not _has_report(what, key)
]

_has_report("policy", key) if _status_to_write(_status_of(key, []))
_has_report("object", key) if lookup.get(key)

# METADATA
# description: |
#   `reports`: the desired and the current status of the objects of `items`, `[what, key]` pairs, a list of `{item,
#   desired, current}`. `what` is `policy` for a status as in `status`, or `object` for marks as in `affected`;
#   `current` is as in `current_statuses`. The other inputs are those of these queries. A deleted object, a policy that
#   is being deleted and a policy of a kind in mode Observe have no report.
# entrypoint: true
reports := queries.error("InvalidInput", "items must be a list of pairs, [policy, <key>] or [object, <key>]") if {
	not _are_items(object.get(input, "items", null))
} else := [entry |
	some item in input.items
	entry := _report(item, _desired_status(item))
]

_are_items(items) if {
	is_array(items)
	every item in items {
		[what, key] := item
		what in {"policy", "object"}
		keys.parse(key)
	}
}

_desired_status(["policy", key]) := _status_to_write(_status_of(key, _tallies(key)))
_desired_status(["object", key]) := _affected_status_of(key, _affecting_policies(key), _unreported_policies(key))

# Undefined for a deleted object.
_report(item, desired) := {"item": item, "desired": desired, "current": _current_status(lookup.get(item[1]))}

# The current status of an object, in the parts that the bridge may write.
_current_status(obj) := {
	"status": object.get(obj, "status", {}),
	"annotations": object.get(obj.metadata, "annotations", {}),
	"resourceVersion": object.get(obj.metadata, "resourceVersion", ""),
}

# A status that the bridge writes. Undefined for a policy kind in mode Observe.
_status_to_write(desired) := desired if desired.mode == "Manage"

# The marks of an object, from the policies that act there.
_affected_status_of(key, affecting, unreported) := reporting.affected_status(key, affecting, unreported, queries.former_kinds)

# METADATA
# description: |
#   `traces`: everything that a bridge has written into each of `objects` (whole, with metadata.managedFields), by key;
#   an object without traces is absent. `former` are the policy kinds that it wrote for, `{group?, kind,
#   controllerName}`, and `manager` is its field manager. For the removal of all traces.
# entrypoint: true
traces := {key: found |
	some obj in input.objects
	key := keys.of(obj)
	found := reporting.traces(obj, input.former, input.manager)
	count(found) > 0
}

# METADATA
# description: |
#   `writable_types`: the types of objects that the bridge may write because of active policy kinds, `{status,
#   annotations}`, from those in `replicated` and of the policies themselves. The permissions of a bridge follow from
#   it.
# entrypoint: true
writable_types := problem if {
	problem := queries.problem([["replicated", "types"]])
} else := reporting.writable_types({type | some type in input.replicated})
