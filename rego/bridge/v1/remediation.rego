package bridge.v1

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.status as reporting

# METADATA
# description: |
#   `remediation`: what the remediator needs after a small change of the objects `keys`, in one query: the result of
#   `concerned` with `outcomes`, `{policyKind: {target: rows}}` for its scopes and for `targets` (`{policyKind: [targets]}`,
#   computed before at `keys`), and with `reports`, as in the query `reports`. Targets without rows are left out, and policy
#   kinds in mode Observe unless `observed`. A change of more than `most` targets has neither outcomes nor reports.
#   `kept` holds tallies by policy without the rows at `targets`; the new rows are added to these. Any other policy has a
#   report if the change covers all that it targets, and an object if that is so for each policy that targets it. An item
#   of `keys` that has nothing to show, such as one that is gone, has a report without `wanted`.
# entrypoint: true
remediation := concerned if {
	concerned.error
} else := concerned if {
	sum([count(targets) | some targets in _remediated]) > object.get(input, "most", 1000)
} else := object.union(concerned, {
	"outcomes": _outcomes,
	"reports": array.flatten([_reports_of_policies, _reports_of_objects, _empty_reports]),
})

_remediated[kind] contains target if {
	some scopes in [concerned.scopes, object.get(input, "targets", {})]
	some kind, targets in scopes
	_is_counted(kind)
	some target in targets
}

_is_counted(kind) if kinds.get(kind).mode == "Manage"

_is_counted(kind) if {
	kinds.get(kind)
	input.observed
}

_outcomes[kind][target] := rows if {
	some kind, targets in _remediated
	some target, rows in rows_at(kind, targets)
	count(rows) > 0
}

_rows contains row if {
	some by_target in _outcomes
	some rows in by_target
	some row in rows
}

_reports_of_policies := [made |
	some policy in sort({policy | some policy in concerned.policies} | object.keys(_kept))
	made := report(["policy", policy], managed(status_of(policy, _tallies_of(policy))))
]

_kept := object.get(input, "kept", {})

_tallies_of(policy) := array.concat(_kept[policy], [{
	"ancestor": row.ancestor,
	"targets": row.targets,
	"outcome": row.outcome,
	"by": row.by,
	"count": 1,
	"examples": [row.scope],
} |
	some row in _rows
	row.policy == policy
])

_tallies_of(policy) := outcomes.tallies(policy) if {
	not _kept[policy]
	_is_covered(policy)
}

_is_covered(policy) if {
	every ref in policies.declared_refs(policy) {
		_is_covered_ref(ref)
	}
}

_is_covered_ref(ref) if ref.object in concerned.objects

_is_covered_ref(ref) if ref.key in _declared_keys

_is_covered_ref(ref) if ref.object in _declared_keys

_declared_keys := {ref.key | some policy in _changed_policies; some ref in policies.declared_refs(policy)}

_changed_policies := {key | some key in input.keys; kinds.of_policy(key)}

# Places that a policy has no room for are left out here: the caller knows them.
_reports_of_objects := [made |
	some key in sort(_marked_objects)
	every policy in attachment.targeting(key) {
		_is_covered(policy)
	}
	made := report(["object", key], wanted_of_object(key, reporting.acting(key), {}))
]

_marked_objects contains key if some key in input.keys

_marked_objects contains key if {
	some policy in _changed_policies
	some ["targeted", key] in input.was[policy]
}

# A new policy marks objects that it did not mark before.
_marked_objects contains key if {
	some row in _rows
	row.policy in _changed_policies
	not input.was[row.policy]
	some [key, _] in row.marks
}

_empty_reports := [{"item": [what, key]} |
	some key in input.keys
	some what in ["policy", "object"]
	not _shows(what, key)
]

_shows("policy", key) if managed(status_of(key, []))

_shows("object", key) if lookup.get(key)
