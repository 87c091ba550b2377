package bridge.policy

import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.merge

# METADATA
# description: |
#   A policy's spec proper (its spec without targets and strategy), `{spec, strategy, rules, origins}`: `rules` are the
#   merge rules of its strategy, `origins` has a key for each leaf. `{error}` if the policy is Invalid (semantics F6,
#   F7, T2).
spec_proper(type, obj) := {"error": message} if {
	message := _problem(type, obj)
} else := {
	"spec": spec,
	"strategy": strategy(type, obj).strategy,
	"rules": merge_rules,
	"origins": merge.keyed_side(spec, object_key(obj), merge_rules).origins,
} if {
	spec := _spec_at(type, place(type, obj), obj)
	merge_rules := object.get(strategy(type, obj), "rules", object.get(kinds.get(type), "rules", []))
}

# The problem of a policy's spec; undefined if it is valid.
_problem(type, obj) := "Policy has no spec" if {
	not place(type, obj)
} else := sprintf("%s is not an object", [place(type, obj).path]) if {
	not is_object(value_at(obj, place(type, obj).segments))
} else := message if {
	found := place(type, obj)
	beside := _beside(type, obj, found)
	count(beside) > 0
	message := sprintf("Fields beside %s: %s. A policy has one wrapper and nothing beside it", [
		found.path,
		concat(", ", sort(beside)),
	])
} else := message if {
	found := place(type, obj)
	second := sort(_second_strategies(type, obj, found))[0]
	message := sprintf("A strategy at %s does not count beside %s: a policy names one strategy%s", [
		leaves.pointer(second),
		found.path,
		concat("", [sprintf(", at %s", [leaves.pointer(found.strategySegments)]) | count(found.strategySegments) > 0]),
	])
} else := strategy(type, obj).error

# The spec proper at a place of a policy, without targets, strategy, wrappers, and what needs labels in a policy without.
_spec_at(type, found, obj) := object.remove(spec, _unused(type, found, obj)) if {
	spec := json.remove(object.remove(value_at(obj, found.segments), found.drop), found.inner)
}

_unused(type, found, obj) := found.withLabels if {
	found.withLabels != []
	breadth(type, obj) % 2 == 0
} else := []

# METADATA
# description: |
#   The first place where a policy has a value, its author's if there is one. As in the API server, a null counts as not
#   set.
place(type, obj) := [found | some found in kinds.get(type).places; _is_written(type, obj, found.segments)][0] if {
	true
} else := [found | some found in kinds.get(type).places; value_at(obj, found.segments) != null][0]

# METADATA
# description: The value at a path of a policy; null if it has none.
value_at(obj, segments) := object.get(obj, segments, null)

# A policy has a value there, and not only what the API server sets by the defaults of the CRD's schema.
_is_written(type, obj, segments) if {
	value := value_at(obj, segments)
	value != null
	not _is_default(type, leaves.pointer(segments), value)
}

_is_default(type, field, value) if {
	given := kinds.get(type).schemaDefaults[field]
	every leaf in leaves.values(field, value) {
		leaf in given
	}
}

# The content of a policy beside its wrapper: a second wrapper (by its path) or fields other than refs and strategy
# (semantics F6, T2).
_beside(type, obj, found) := {path |
	some path, segments in found.rivals
	_is_written(type, obj, segments)
} | {field |
	holder := found.holder
	some field, _ in object.remove(value_at(obj, holder.segments), holder.allowed)
	_is_written(type, obj, array.concat(holder.segments, [field]))
}

# The places of strategies in a policy that belong to another place (GEP-713, "Selecting a merge strategy at runtime";
# T2).
_second_strategies(type, obj, found) := {segments |
	some segments in found.otherStrategies
	_is_written(type, obj, segments)
}
