package bridge.v1

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `impact`: the effective targets of a policy, and the differences if it were deleted: `{policy, policyKind, scopes,
#   counts, ifDeleted}`. `scopes` are its effective targets, `counts` their number, by outcome too (one path each);
#   `ifDeleted` has for each path that would differ `{target, path, before, after}`, each `{spec, origins, policies}`
#   or, without a policy, null. A difference for requests from one namespace only has `sourceNamespace`; with it in the
#   input only such requests count. `limit` bounds the number of compared scopes; then `counts.compared` is less than
#   `counts.scopes`.
# entrypoint: true
impact := queries.input_problem if {
	queries.input_problem
} else := _policy_problem if {
	_policy_problem
} else := {
	"policy": input.policy,
	"policyKind": _impact_kind,
	"scopes": _impact_scopes,
	"counts": {"scopes": count(_impact_scopes), "compared": count(_compared), "outcomes": _impact_outcomes},
	"ifDeleted": [object.remove(difference, ["policyKind"]) | some difference in queries.differences(_impact_before, _impact_after)],
}

_impact_kind := keys.parse(input.policy).type

_impact_scopes := sort(scopes.reachable_scopes(input.policy))

_compared := array.slice(_impact_scopes, 0, object.get(input, "limit", 1000))

_impact_outcomes := {outcome: count(paths) |
	some outcome in ["Programmed", "PartiallyProgrammed", "Overridden"]
	paths := [true |
		some by_source in _impact_before[_impact_kind]
		some source, by_path in by_source
		some path, entry in by_path
		_counts_once(by_source, source, path)
		some policy in entry.policies
		policy.policy == input.policy
		policy.outcome == outcome
	]
}

# Paths that a source shares with all sources are counted for all.
_counts_once(by_source, source, path) if {
	source == ""
} else if {
	object.get(by_source, ["", path], null) != by_source[source][path]
}

_impact_before := queries.effective_at({_impact_kind: _compared})

# The scopes are bound outside, because without the policy there are none.
_impact_after := after if {
	scopes := {_impact_kind: _compared}
	after := queries.effective_at(scopes) with input as object.union(input, {"changes": _changes_without_policy})
}

_changes_without_policy := {
	"upsert": [obj | some obj in object.get(input, ["changes", "upsert"], []); keys.of(obj) != input.policy],
	"delete": array.concat(object.get(input, ["changes", "delete"], []), [input.policy]),
}

_policy_problem := queries.error("InvalidInput", "policy must be a key, <group>/<Kind>/<namespace>/<name>") if {
	not is_string(object.get(input, "policy", null))
} else := queries.error("InvalidInput", "policy must be a key, <group>/<Kind>/<namespace>/<name>") if {
	not keys.parse(input.policy)
} else := queries.error("TargetNotFound", sprintf("%s does not exist", [input.policy])) if {
	not lookup.get(input.policy)
} else := queries.error("UnknownPolicyKind", message) if {
	not kinds.of_policy(input.policy)
	message := sprintf("%s is not a policy of an active kind; active kinds: %s", [input.policy, concat(", ", sort(kinds.in_use))])
} else := queries.error("InvalidInput", "limit must be a number above 0") if {
	not _is_limit(object.get(input, "limit", 1000))
}

_is_limit(limit) if {
	is_number(limit)
	limit > 0
}
