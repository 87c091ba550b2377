package bridge.effective

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels

# An entry of effective policies as requests meet it: where a field of the route's rule goes before a field of the policy
# (`shadowedBy` of the kind), the spec has the rule's values, whose origin is the rule. `shadowed` has what the policies set
# there: `{path, value, policies, by, field}`; `by` is the rule, and `field` its field.
as_served(entry) := object.union_n([object.remove(entry, ["spec", "origins"]), {
	"spec": _with_values(json.remove(entry.spec, paths), {pointer: value | some pointer, [value, _] in placed}),
	"origins": object.union(
		{pointer: origin | some pointer, origin in entry.origins; not _is_at_or_below(leaves.segments(pointer), paths)},
		{pointer: node | some pointer, [_, node] in placed},
	),
	"shadowed": [{
		"path": path,
		"value": object.get(entry.spec, leaves.segments(path), null),
		"policies": owners_at(entry.origins, "", path),
		"by": shadow.node,
		"field": shadow.field.rule,
	} |
		some path, shadow in shadows
	],
}]) if {
	fields := kinds.get(keys.type_of(entry.policies[0].policy)).shadowedBy
	not entry.error

	# The lowest first: a rule may have the fields of the one that delegated the request to it.
	rules := [node | some node in array.reverse(entry.path); levels.of(node) == "Rule"]
	shadows := {path: found[count(found) - 1] |
		some path in {field.path | some field in fields}
		object.get(entry.spec, leaves.segments(path), null) != null
		found := [there |
			some node in rules
			there := _shadows_in(node, [field | some field in fields; field.path == path])
			there != []
		][0]
	}
	shadows != {}
	paths := {leaves.segments(path) | some path, _ in shadows}
	placed := {pointer: [value, shadow.node] |
		some path, shadow in shadows
		some pointer, source in object.get(shadow.field, "values", {path: shadow.field.rule})
		value := object.get(fields_with_filters(shadow.node), leaves.segments(source), null)
		value != null
	}
} else := entry

# METADATA
# description: The pointers to fields of a policy kind that a rule replaces with its own, whether a policy has them or not.
own_fields(policy_kind, node) := {field.path | some field in kinds.get(policy_kind).shadowedBy; _has_own(fields_with_filters(node), field)}

# The fields of a rule that replace a field of policies, by these entries of the kind.
_shadows_in(node, fields) := [{"field": field, "node": node} | some field in fields; _has_own(rule, field)] if {
	rule := fields_with_filters(node)
}

# The fields of a rule, with its filters by their types.
fields_with_filters(node) := object.union(object.remove(rule, ["filters"]), {"filters": {type: [one | some one in rule.filters; one.type == type][0] |
	some filter in rule.filters
	type := filter.type
}}) if {
	rule := hierarchy.rule_of(node)
	rule.filters
} else := hierarchy.rule_of(node)

_has_own(rule, field) if {
	object.get(rule, leaves.segments(field.rule), null) != null
	object.get(rule, leaves.segments(object.get(field, "unless", "/-")), null) == null
}

_is_at_or_below(segments_of_leaf, paths) if {
	some path in paths
	array.slice(segments_of_leaf, 0, count(path)) == path
}

# A spec with these values, by their pointers.
_with_values(spec, placed) := json.patch(spec, array.concat(
	[{"op": "add", "path": above, "value": {}} | some [_, above] in sort([[count(above), above] | some above in missing])],
	[{"op": "add", "path": leaves.segments(pointer), "value": value} | some pointer, value in placed],
)) if {
	missing := {above |
		some pointer, _ in placed
		path := leaves.segments(pointer)
		some end, _ in path
		end > 0
		above := array.slice(path, 0, end)
		not is_object(object.get(spec, above, null))
	}
}
