# METADATA
# title: Effective policies
# description: |
#   For each path to an effective target, the policies on any level of it, ordered and folded into one spec
#   (GEP-713, "Understanding effective policies").
package bridge.effective

import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.lookup

# METADATA
# description: |
#   A policy's spec proper (what is left of its spec without targets and strategy), with its strategy:
#   `{spec, strategy, pointers}`, or `{error}` where the policy is Invalid (semantics F6, F7, T2).
proper(policy_key) := {"error": message} if {
	message := _shape_error(policy_key)
} else := {"error": message} if {
	message := _strategy(policy_key).error
} else := {
	"spec": spec,
	"strategy": _strategy(policy_key).strategy,
	"pointers": leaves.pointers(spec),
} if {
	spec := _spec(policy_key)
}

# The first spec path that the policy has.
_place(policy_key) := [entry |
	some entry in kinds.of_policy(policy_key).specPaths
	_has(lookup.get(policy_key), leaves.segments(entry.path))
][0]

# A null is nothing set, as the API server takes it.
_has(obj, path) if object.get(obj, path, null) != null

_value(policy_key) := object.get(lookup.get(policy_key), leaves.segments(_place(policy_key).path), {})

_never_proper := ["targetRefs", "targetRef", "targetSelectors"]

_spec(policy_key) := json.remove(object.remove(_value(policy_key), _excluded(_place(policy_key))), inner) if {
	inner := {path | some path in _strategy_fields(_place(policy_key))}
}

_excluded(place) := array.concat(_never_proper, object.get(place, "without", []))

# The strategy's field, where it lies inside the spec proper, relative to it.
_strategy_fields(place) := {rest |
	path := leaves.segments(place.strategyPath)
	base := leaves.segments(place.path)
	array.slice(path, 0, count(base)) == base
	rest := array.slice(path, count(base), count(path))
}

_shape_error(policy_key) := "Policy has no spec" if not _place(policy_key)

_shape_error(policy_key) := message if {
	not is_object(_value(policy_key))
	message := sprintf("%s is no object", [_place(policy_key).path])
}

# A second wrapper, or fields beside the wrapper other than refs and strategy (semantics F6, wrappers: One; T2).
_shape_error(policy_key) := message if {
	is_object(_value(policy_key))
	place := _place(policy_key)
	beside := _beside(policy_key, place)
	count(beside) > 0
	message := sprintf("Fields beside %s: %s. A policy has one wrapper and nothing beside it", [
		place.path,
		concat(", ", sort(beside)),
	])
}

_beside(policy_key, place) := _other_wrappers(policy_key, place) | {field |
	path := leaves.segments(place.path)
	above := array.slice(path, 0, count(path) - 1)
	some bare in kinds.of_policy(policy_key).specPaths
	leaves.segments(bare.path) == above
	holder := object.get(lookup.get(policy_key), above, {})
	some field, value in object.remove(holder, array.concat(_excluded(bare), [path[count(path) - 1]]))
	value != null
	not [field] in _strategy_fields(bare)
	not concat("/", [bare.path, field]) in {other.path | some other in kinds.of_policy(policy_key).specPaths}
}

# Wrappers that the policy has beside the one in use, named by their paths; a bare spec holds its wrappers.
_other_wrappers(policy_key, place) := {other.path |
	some other in kinds.of_policy(policy_key).specPaths
	not startswith(concat("", [place.path, "/"]), concat("", [other.path, "/"]))
	not startswith(concat("", [other.path, "/"]), concat("", [place.path, "/"]))
	_has(lookup.get(policy_key), leaves.segments(other.path))
}
