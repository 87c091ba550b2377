package bridge.queries

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.status as reporting

# The desired status of a policy or a PolicyKind, from the input's tallies or else its outcomes. Undefined if it is
# deleted or being deleted.
policy_status(key) := _status(key, outcomes.tallies_of(key))

_status(key, tallies) := object.union(reporting.of_policy(key, tallies), {"former": names | names != set()}) if {
	kind := kinds.of_policy(key)
	_is_alive(key)
	names := {former.controllerName | some former in former_kinds; former.kind == kind.kind}
} else := {"policy": key, "policyKind": kinds.policykind_type, "mode": "Manage", "conditions": [condition], "types": ["Accepted"]} if {
	keys.type_of(key) == kinds.policykind_type
	_is_alive(key)
	condition := reporting.with_generation(key, object.union(kinds.verdict(key), {"type": "Accepted"}))
}

_is_alive(key) if {
	obj := lookup.get(key)
	not obj.metadata.deletionTimestamp
}

# The marks of an object, from the policies that act there: the input's, or else the computed ones.
object_status(key) := reporting.affected_status(key, affecting, unreported, former_kinds) if {
	affecting := object.get(input.affectedBy, key, {})
	unreported := object.get(input, ["unreported", key], {})
} else := reporting.affected_status(key, reporting.affecting_policies(key), reporting.unreported_policies(key), former_kinds)

# The desired and the current status of `policy`, or the marks of `object`. Undefined for a deleted object, and for
# policies of a kind in mode Observe.
report("policy", key) := _report("policy", key, desired) if {
	desired := policy_status(key)
	desired.mode == "Manage"
}

report("object", key) := _report("object", key, object_status(key))

_report(what, key, desired) := {"item": [what, key], "desired": desired, "current": current_status(lookup.get(key))}

# The current status of an object, in the parts that the bridge may write.
current_status(obj) := {
	"status": object.get(obj, "status", {}),
	"annotations": object.get(obj.metadata, "annotations", {}),
	"resourceVersion": object.get(obj.metadata, "resourceVersion", ""),
}

# The results that the remediator needs after a small change: the rows at the effective targets, `{policyKind: {target:
# rows}}`, without targets that have none, and the reports. Empty if the change is too large for one query.
remediation := {
	"outcomes": _rows,
	"reports": array.flatten([_reports_of_policies, _reports_of_objects, _empty_reports]),
} if {
	sum([count(targets) | some targets in _changed_scopes]) <= object.get(input.wanted.remediation, "most", 1000)
	sum([outcomes.paths_to(kind, targets) | some kind, targets in _changed_scopes]) <= hierarchy.paths_bound
} else := {}

# The effective targets to recompute, of the kinds whose outcomes count: without `observed` those in mode Manage.
_changed_scopes[kind] contains target if {
	some by_kind in [dependents.scopes, object.get(input.wanted.remediation, "targets", {})]
	some kind, targets in by_kind
	_counts(kind)
	some target in targets
}

_counts(kind) if kinds.get(kind).mode == "Manage"

_counts(kind) if {
	kinds.get(kind).mode == "Observe"
	input.wanted.remediation.observed
}

_rows[kind][target] := rows if {
	some kind, targets in _changed_scopes
	some target, rows in outcomes.outcomes_of(kind, targets)
	count(rows) > 0
}

_rows_by_policy[row.policy] contains row if {
	some by_target in _rows
	some rows in by_target
	some row in rows
}

# A policy has a report if the input has its other tallies (`kept`), or if the change covers all its targets. Nothing is
# counted for other policies: one of them may reach all of a cluster.
_reports_of_policies := [_report("policy", key, desired) |
	some key in sort({key | some key in dependents.policies} | object.keys(_kept))
	_is_written(key)
	desired := _status(key, _tallies(key))
]

_is_written(key) if kinds.of_policy(key).mode == "Manage"
_is_written(key) if keys.type_of(key) == kinds.policykind_type

_kept := object.get(input.wanted.remediation, "kept", {})

_tallies(policy) := array.concat(_kept[policy], [object.remove(row, ["policy", "marks"]) | some row in _rows_by_policy[policy]])

_tallies(policy) := outcomes.tallies(policy) if {
	not _kept[policy]
	_is_covered(policy)
}

# The targets that a policy selects by fields of its kind are not listed: they may be all workloads of a cluster.
_is_covered(policy) if {
	policy in _policies_of_input
} else if {
	not policies.selects_by_fields(policy)
	every ref in policies.declared_refs(policy) {
		count({ref.key, ref.object} & _covered_targets) > 0
	}
}

_policies_of_input := {key | some key in input.keys; kinds.of_policy(key)}

_covered_targets := dependent_objects | {ref.key | some policy in _policies_of_input; some ref in policies.declared_refs(policy)}

# An object has a report if the change covers every policy that targets it. Omitted ancestors are not listed here: the
# caller knows them.
_reports_of_objects := [_report("object", key, reporting.affected_status(key, reporting.affecting_policies(key), {}, former_kinds)) |
	some key in sort(_marked_objects)
	every policy in attachment.permitted_policies_targeting(key) {
		_is_covered_or_observed(policy)
	}
]

_is_covered_or_observed(policy) if not kinds.sets.managed[keys.type_of(policy)]
_is_covered_or_observed(policy) if _is_covered(policy)

# The changed objects, the former targets of changed policies, and what new policies mark.
_marked_objects := ({key | some key in input.keys} | {key |
	some former_links in input.was
	some ["targeted", key] in former_links
}) | {key |
	some policy in _policies_of_input
	not input.was[policy]
	some row in _rows_by_policy[policy]
	some [key, _] in row.marks
}

_empty_reports := [{"item": [what, key]} |
	some key in input.keys
	some what in ["policy", "object"]
	not _has_status(what, key)
]

_has_status("object", key) if lookup.get(key)

_has_status("policy", key) if {
	_is_written(key)
	_is_alive(key)
}
