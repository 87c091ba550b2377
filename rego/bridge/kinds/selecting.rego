package bridge.kinds

import data.bridge.lib.leaves

# METADATA
# description: |
#   The `selectors` of a kind in the form in which policies are read: `{place, segments, by, types, gateways, namespaces?}`, where
#   `place` is how messages name the field and `gateways` says which Gateways count.
selector_entries(entries) := [object.union_n([
	{"segments": leaves.segments(entry.path), "place": _field_name(entry.path), "by": object.get(entry, "by", "Objects")},
	{"types": [type_of_target(target) | some target in entry.targets]},
	{"namespaces": leaves.segments(entry.namespaces) | entry.namespaces},
	{"gateways": object.filter(entry, ["controllers", "exceptClasses"])},
]) |
	some entry in entries
]

_field_name(pointer) := concat(".", leaves.segments(pointer))

# METADATA
# description: |
#   Policies of a kind may select their targets by a field of their own (`selectors`; semantics T8). Says false in so many words,
#   because OPA keeps no result of a function that has none.
has_selectors(policy_kind) if {
	get(policy_kind).selectors
} else := false

# METADATA
# description: |
#   Policies of a kind in a namespace concern all namespaces (`rootNamespace`; semantics T8).
is_root_namespace(policy_kind, namespace) if {
	get(policy_kind).rootNamespace == namespace
} else := false

# METADATA
# description: The types of the kinds whose policies may select their targets by a field of their own.
selecting_kinds := {type | some type in names; has_selectors(type)}

# METADATA
# description: Kinds that a description selects and does not list as targets, each as a message with its place.
unlisted_targets(spec) := [sprintf("selectors[%d].targets[%d]: targets does not list %s", [place, number, target.kind]) |
	listed := {type_of_target(target) | some target in spec.targets}
	some place, entry in spec.selectors
	some number, target in entry.targets
	not type_of_target(target) in listed
] if {
	spec.targets
} else := []
