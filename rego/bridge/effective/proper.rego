# METADATA
# title: Effective policies
# description: |
#   For each path to an effective target, the policies on any level of it, ordered and folded into one spec
#   (GEP-713, "Understanding effective policies").
package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.merge

# METADATA
# description: |
#   A policy's spec proper (what is left of its spec without targets and strategy), with its strategy:
#   `{spec, strategy, pointers}`, or `{error}` where the policy is Invalid (semantics F6, F7, T2).
made_proper(policy_key) := both_proper(policy_key) if {
	both(keys.parse(policy_key).type)
} else := {"error": "Policy has no spec"} if {
	not _place(policy_key)
} else := {"error": sprintf("%s is no object", [_place(policy_key).path])} if {
	not is_object(_value(policy_key))
} else := {"error": message} if {
	beside := _beside(policy_key, _place(policy_key))
	count(beside) > 0
	message := sprintf("Fields beside %s: %s. A policy has one wrapper and nothing beside it", [
		_place(policy_key).path,
		concat(", ", sort(beside)),
	])
} else := {"error": message} if {
	place := _place(policy_key)
	second := sort(_second_strategies(policy_key, place))[0]
	message := sprintf("A strategy at %s does not count beside %s: a policy names one strategy%s", [
		leaves.pointer(second),
		place.path,
		concat("", [sprintf(", at %s", [leaves.pointer(place.strategySegments)]) | count(place.strategySegments) > 0]),
	])
} else := {"error": message} if {
	message := made_strategy(policy_key).error
} else := {
	"spec": spec,
	"strategy": made_strategy(policy_key).strategy,
	"pointers": object.keys(made_side(policy_key).origins),
} if {
	spec := _spec(policy_key)
}

_spec(policy_key) := json.remove(object.remove(_value(policy_key), place.drop), place.inner) if {
	place := _place(policy_key)
}

# METADATA
# description: A policy's own spec proper as a side of a step, in the form that its rules make of it.
made_side(policy_key) := both_side(policy_key) if {
	both(keys.parse(policy_key).type)
} else := merge.side(policy_key, _spec(policy_key), leaves.pointers(_spec(policy_key))) if {
	made_merge_rules(policy_key) == []
} else := merge.keyed(_spec(policy_key), {"": policy_key}, made_merge_rules(policy_key))

# The first place where the policy has something. A null is nothing set, as the API server takes it.
_place(policy_key) := [place |
	policy := lookup.get(policy_key)
	some place in kinds.of_policy(policy_key).places
	object.get(policy, place.segments, null) != null
][0]

_value(policy_key) := _at(policy_key, _place(policy_key).segments)

_at(policy_key, segments) := object.get(lookup.get(policy_key), segments, null)

# What a policy has beside its wrapper, a second wrapper (by its path) or fields other than refs and strategy
# (semantics F6, wrappers: One; T2).
_beside(policy_key, place) := {path |
	some path, segments in place.rivals
	_at(policy_key, segments) != null
} | fields_beside(policy_key, place)

# Where a policy names a strategy that would be another place's (GEP-713, "Selecting a merge strategy at runtime"; T2).
_second_strategies(policy_key, place) := {segments |
	some segments in place.otherStrategies
	_at(policy_key, segments) != null
}

# METADATA
# description: The fields beside a policy's wrapper that are no wrapper, ref or strategy.
fields_beside(policy_key, place) := {field |
	holder := place.holder
	some field, value in object.remove(_at(policy_key, holder.segments), holder.allowed)
	value != null
}
