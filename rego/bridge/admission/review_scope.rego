package bridge.admission

import data.bridge.constraints
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   The types that `denied` and `warnings` can concern: `types`, or any type if `any` is true. For other types they are
#   empty, so clients need not query them. Only changes of objects of the types in `depends_on` change this result.
# entrypoint: true
review_scope := {
	"any": count(_open) > 0,
	"types": sort((({constraints.type, kinds.policykind_type} | kinds.names) | _constrained)),
	"depends_on": sort({constraints.type, kinds.policykind_type, kinds.crd_type}),
}

_constrained := {concat("/", [keys.group_name(group), kind]) |
	some spec in constraints.active_constraints
	some entry in spec.match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
}

# Constraints that do not name both groups and kinds match types that cannot be listed.
_open contains name if {
	some name, spec in constraints.active_constraints
	object.get(spec, ["match", "kinds"], []) == []
}

_open contains name if {
	some name, spec in constraints.active_constraints
	some entry in spec.match.kinds
	some field in ["apiGroups", "kinds"]
	_leaves_open(object.get(entry, field, []))
}

_leaves_open(names) if count(names) == 0

_leaves_open(names) if "*" in names
