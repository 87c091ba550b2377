package bridge.v1

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.status as reporting

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
	item_report := report(["policy", policy], status_to_write(status_of(policy, _tallies_of(policy))))
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

_is_covered(policy) if policy in _changed_policies

# The targets that a policy selects by fields of its kind are not listed: they may be all workloads of a cluster.
_is_covered(policy) if {
	not policy in _changed_policies
	not policies.selects_by_fields(policy)
	every ref in policies.declared_refs(policy) {
		_is_covered_ref(ref)
	}
}

_is_covered_ref(ref) if ref.object in dependents.objects

_is_covered_ref(ref) if ref.key in _declared_keys

_is_covered_ref(ref) if ref.object in _declared_keys

_declared_keys := {ref.key | some policy in _changed_policies; some ref in policies.declared_refs(policy)}

_changed_policies := {key | some key in input.keys; kinds.of_policy(key)}

# Omitted ancestors are not listed here: the caller knows them.
_reports_of_objects := [item_report |
	some key in sort(_marked_objects)
	every policy in _marking_policies(key) {
		_is_covered(policy)
	}
	item_report := report(["object", key], affected_status_of(key, reporting.affecting_policies(key), {}))
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

_has_report("policy", key) if status_to_write(status_of(key, []))

_has_report("object", key) if lookup.get(key)
