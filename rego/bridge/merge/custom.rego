package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   GEP-713, "Custom merge strategies" (semantics F9): the rule `result` of the package bridge.strategies.<strategy>
#   merges a pair of sides. Its input is `{established, challenger, policyKind}`, each side `{spec, policies, origins}`,
#   with the nulls that still remove fields; it returns `{spec, origins?}`. An invalid result is an error for the path,
#   `{error}`.
custom_merge(strategy, policy_kind, established, challenger) := {"error": {"code": "CustomStrategy", "message": message}} if {
	message := sprintf("data.bridge.strategies.%s.result %s", [strategy, _result_problem(strategy, policy_kind, established, challenger)])
} else := {"spec": result.spec, "origins": {pointer: _result_origin(pointer, result, [challenger, established]) |
	some pointer in leaves.pointers(result.spec)
}} if {
	result := _result(strategy, policy_kind, established, challenger)
}

_result(strategy, policy_kind, established, challenger) := result if {
	strategy_input := {"established": _strategy_side(established), "challenger": _strategy_side(challenger), "policyKind": policy_kind}
	result := data.bridge.strategies[strategy].result with input as strategy_input
}

_strategy_side(side) := {"spec": side.spec, "origins": side.origins, "policies": sort(_makers(side))}

_makers(side) := {policy | some origin in side.origins; some policy in as_list(origin)}

_result_problem(strategy, policy_kind, established, challenger) := _shape_problem(result, makers) if {
	result := _result(strategy, policy_kind, established, challenger)
	makers := _makers(established) | _makers(challenger)
} else := "is undefined for this pair, or the package does not exist" if {
	not _result(strategy, policy_kind, established, challenger)
}

_shape_problem(result, makers) := "is not an object {spec, origins}" if {
	not is_object(result)
} else := "has a spec that is not an object" if {
	not is_object(object.get(result, "spec", null))
} else := "has origins that are not an object" if {
	not is_object(object.get(result, "origins", {}))
} else := sprintf("has an origin at %q, which is not a leaf of its spec", [pointer]) if {
	pointer := sort(object.keys(result.origins) - leaves.pointers(result.spec))[0]
} else := sprintf("has an origin at %q that is not a policy of either side", [pointer]) if {
	pointer := sort({pointer | some pointer, origin in result.origins; not _is_origin(origin, makers)})[0]
}

_is_origin(origin, makers) if {
	as_list(origin) != []
	every policy in as_list(origin) {
		policy in makers
	}
}

# The policies of a leaf: those in the result, otherwise of the side that has an equal value there, the challenger
# first, otherwise of all that have leaves at, above or below the pointer, otherwise of both sides.
_result_origin(pointer, result, sides) := one_or_all({policy | some policy in as_list(result.origins[pointer])}) if {
	result.origins[pointer]
} else := [side.origins[pointer] |
	some side in sides
	segments := leaves.segments(pointer)
	object.get(side.spec, segments, null) == object.get(result.spec, segments, null)
][0] if {
	true
} else := one_or_all({policy | some side in sides; some policy in _makers_near(pointer, side)})

_makers_near(pointer, side) := near if {
	near := {policy |
		some place, origin in side.origins
		_is_near(concat("", [place, "/"]), concat("", [pointer, "/"]))
		some policy in as_list(origin)
	}
	count(near) > 0
} else := _makers(side)

_is_near(place, pointer) if startswith(place, pointer)

_is_near(place, pointer) if startswith(pointer, place)

# METADATA
# description: |
#   The origin for a set of policies: the policy itself if there is only one.
one_or_all(policies) := [policy | some policy in policies][0] if {
	count(policies) == 1
} else := sort([policy | some policy in policies])

# METADATA
# description: The policies of an origin, which may be several (semantics F9).
as_list(origin) := [origin] if is_string(origin)

as_list(origin) := origin if is_array(origin)
