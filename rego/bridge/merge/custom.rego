package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   GEP-713, "Custom merge strategies" (semantics F9): the rule `result` of the package bridge.strategies.<name> merges
#   the pair. Its input is `{established, challenger, policyKind}`, each side `{spec, policies, origins}` as plain
#   specs, with the nulls that still remove fields; it returns `{spec, origins?}`. An invalid result is an error for the
#   path, `{error}`.
custom_merge(method, established, challenger) := {"error": {"code": "CustomStrategy", "message": message}} if {
	message := _custom_problem(method, _custom_answer(method, established, challenger), established, challenger)
} else := {"error": {"code": "CustomStrategy", "message": message}} if {
	not _custom_answer(method, established, challenger)
	message := sprintf("data.bridge.strategies.%s.result is undefined for this pair, or the package does not exist", [method.custom[0]])
} else := object.union(object.remove(custom_side, ["origins"]), {"origins": {pointer: _maker(pointer, origin, custom_side, sides) |
	some pointer, origin in custom_side.origins
}}) if {
	answer := _custom_answer(method, established, challenger)
	custom_side := keyed_side(answer.spec, object.union({"": ""}, object.get(answer, "origins", {})), _custom_rules(method))
	sides := [side_by_rules(challenger, _custom_rules(method)), side_by_rules(established, _custom_rules(method))]
}

# Custom does not append, so a list to append is a leaf.
_custom_rules(method) := [rule | some rule in method.rules; rule.how != "append"]

_custom_answer(method, established, challenger) := answer if {
	[name, policy_kind] := method.custom
	strategy_input := {"established": _strategy_side(established), "challenger": _strategy_side(challenger), "policyKind": policy_kind}
	answer := data.bridge.strategies[name].result with input as strategy_input
}

_strategy_side(side) := {"spec": plain.spec, "origins": plain.origins, "policies": sort(_makers(side))} if {
	plain := plain_side(side)
}

_makers(side) := {policy | some origin in side.origins; some policy in as_list(origin)}

_custom_problem(method, answer, established, challenger) := _custom_message(method, "is not an object {spec, origins}") if {
	not is_object(answer)
} else := _custom_message(method, "has a spec that is not an object") if {
	not is_object(object.get(answer, "spec", null))
} else := _custom_message(method, "has origins that are not an object") if {
	not is_object(object.get(answer, "origins", {}))
} else := _custom_message(method, sprintf("has an origin at %q, which is not a leaf of its spec", [pointer])) if {
	custom_side := plain_side(keyed_side(answer.spec, {"": ""}, _custom_rules(method)))
	pointer := sort(object.keys(answer.origins) - object.keys(custom_side.origins))[0]
} else := _custom_message(method, sprintf("has an origin at %q that is not a policy of either side", [pointer])) if {
	makers := _makers(established) | _makers(challenger)
	pointer := sort({pointer | some pointer, origin in answer.origins; not _is_maker(origin, makers)})[0]
}

_custom_message(method, fault) := sprintf("data.bridge.strategies.%s.result %s", [method.custom[0], fault])

_is_maker(origin, makers) if origin in makers

_is_maker(origin, makers) if {
	is_array(origin)
	count(origin) > 0
	every policy in origin {
		policy in makers
	}
}

# The policies of a leaf: those in the result, otherwise of the side that has an equal value there, the challenger
# first, otherwise of both.
_maker(_, origin, _, _) := one_or_all({policy | some policy in as_list(origin)}) if origin != ""

_maker(pointer, "", custom_side, sides) := [side.origins[pointer] |
	some side in sides
	segments := leaves.segments(pointer)
	object.get(side.spec, segments, null) == object.get(custom_side.spec, segments, null)
][0] if {
	true
} else := one_or_all({policy |
	some side in sides
	some policy in _makers_near(pointer, side)
})

# The policies of a side that have leaves at, above or below a pointer, otherwise all of them.
_makers_near(pointer, side) := as_list(origin_of(pointer, side.origins)) if {
	count(as_list(origin_of(pointer, side.origins))) > 0
} else := _makers(side)
