# METADATA
# title: Effective policies
# description: |
#   For each path to an effective target, the policies on any level of it, ordered and folded into one spec
#   (GEP-713, "Understanding effective policies").
package bridge.effective

import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.merge

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

# METADATA
# description: |
#   Nanoseconds since 1970 of a policy's creation. One that has no creationTimestamp, as in manifests, is not created
#   yet, so it is younger than all that are.
age(policy_key) := time.parse_rfc3339_ns(lookup.get(policy_key).metadata.creationTimestamp)

age(policy_key) := 9223372036854775807 if not lookup.get(policy_key).metadata.creationTimestamp

# The first spec path that the policy has.
_place(policy_key) := [entry |
	some entry in kinds.of_policy(policy_key).specPaths
	_has(lookup.get(policy_key), leaves.segments(entry.path))
][0]

_has(obj, path) if object.get(obj, path, _absent) != _absent

_absent := "\u0000absent"

_value(policy_key) := object.get(lookup.get(policy_key), leaves.segments(_place(policy_key).path), {})

_never_proper := ["targetRefs", "targetRef", "targetSelectors"]

_spec(policy_key) := json.remove(object.remove(_value(policy_key), _excluded(policy_key, _place(policy_key))), inner) if {
	inner := {path | some path in _strategy_fields(_place(policy_key))}
}

_excluded(_, place) := array.concat(_never_proper, object.get(place, "without", []))

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

# A second wrapper, or fields beside the wrapper other than refs and strategy (semantics F6, wrappers: One).
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

_beside(policy_key, place) := {field |
	path := leaves.segments(place.path)
	above := array.slice(path, 0, count(path) - 1)
	some bare in kinds.of_policy(policy_key).specPaths
	leaves.segments(bare.path) == above
	holder := object.get(lookup.get(policy_key), above, {})
	some field, _ in object.remove(holder, array.concat(_excluded(policy_key, bare), [path[count(path) - 1]]))
	not [field] in _strategy_fields(bare)
}

_strategy(policy_key) := _resolved(kinds.of_policy(policy_key), _place(policy_key), value) if {
	value := _strategy_value(policy_key)
} else := {"strategy": _default_strategy(policy_key)}

_strategy_value(policy_key) := value if {
	value := object.get(lookup.get(policy_key), leaves.segments(_place(policy_key).strategyPath), null)
	value != null
}

_default_strategy(policy_key) := _place(policy_key).strategy

_default_strategy(policy_key) := kinds.of_policy(policy_key).defaultStrategy if not _place(policy_key).strategy

_resolved(kind, place, value) := {"strategy": named[0]} if {
	meaning := object.get(kind.strategies, [value], value)
	named := [name |
		some name, title in merge.strategies
		_same_name(meaning, name, title)
	]
} else := {"strategy": concat("", [meaning, _direction(kind, place)])} if {
	meaning := object.get(kind.strategies, [value], value)
	meaning in {"Atomic", "Patch"}
} else := {"error": message} if {
	message := sprintf("Strategy %v is unknown; known are %s", [value, concat(", ", sort(object.keys(kind.strategies) | object.keys(merge.strategies)))])
}

_same_name(text, name, _) if text == name

_same_name(text, _, title) if lower(text) == lower(title)

# A granularity takes its wrapper's direction, else that of the kind's default strategy (semantics F7).
_direction(kind, place) := "Overrides" if endswith(object.get(place, "strategy", kind.defaultStrategy), "Overrides")

_direction(kind, place) := "Defaults" if not endswith(object.get(place, "strategy", kind.defaultStrategy), "Overrides")
