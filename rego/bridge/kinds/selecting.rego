package bridge.kinds

import data.bridge.lib.leaves

# METADATA
# description: |
#   The `selectors` of a kind, prepared for reading policies: `{place, segments, by, types, gateways, namespaces?}`. `place` is the
#   name of the field in messages, and `gateways` selects Gateways.
selector_entries(entries) := [object.union_n([
	{"segments": leaves.segments(entry.path), "place": _field_name(entry.path), "by": object.get(entry, "by", "Objects")},
	{"types": [type_of_target(target) | some target in entry.targets]},
	{"namespaces": leaves.segments(entry.namespaces) | entry.namespaces},
	{"gateways": object.filter(entry, ["controllers", "exceptClasses"])},
	object.filter(entry, ["namespaceDefault"]),
]) |
	some entry in entries
]

_field_name(pointer) := concat(".", leaves.segments(pointer))

# METADATA
# description: |
#   Policies of a kind may select their targets by a field (`selectors`; semantics T8). Returns an explicit false, because OPA does
#   not cache an undefined result of a function.
has_selectors(policy_kind) if {
	get(policy_kind).selectors
} else := false

# METADATA
# description: |
#   Policies of a kind in this namespace affect all namespaces (`rootNamespace`; semantics T8).
is_root_namespace(policy_kind, namespace) if {
	get(policy_kind).rootNamespace == namespace
} else := false

# METADATA
# description: Of the policies of a kind that select everything in a namespace, only the oldest counts (`namespaceDefault`; semantics T8).
has_namespace_defaults(policy_kind) if {
	get(policy_kind).selectors[_].namespaceDefault
} else := false

# METADATA
# description: The types of the kinds whose policies may select their targets by a field.
selecting_kinds := object.keys(sets.selecting)

# METADATA
# description: Kinds that a PolicyKind selects but does not list as targets, each as a message with its place.
unlisted_targets(spec) := [sprintf("selectors[%d].targets[%d]: targets does not list %s", [place, number, target.kind]) |
	listed := {type_of_target(target) | some target in spec.targets}
	some place, entry in spec.selectors
	some number, target in entry.targets
	not type_of_target(target) in listed
] if {
	spec.targets
} else := []

# METADATA
# description: |
#   The kinds whose policies select by other fields, or in other namespaces, after the query's changes than they did when the
#   index was written.
with_other_selectors := {type |
	has_changes
	some type in (names | object.keys(data.kinds))
	_selecting_fields(object.get(active_kinds, type, {})) != _selecting_fields(_stored_kind(type))
}

_selecting_fields(kind) := object.filter(kind, ["selectors", "rootNamespace"])

_stored_kind(type) := data.kinds[type] if {
	true
} else := {}
