package bridge.admission

import data.bridge.constraints
import data.bridge.kinds
import data.bridge.lib.keys

# METADATA
# description: |
#   What `denied` and `warnings` can be about: objects of these `types`, or where `any` is true of any type. Of others they
#   are empty, so that nobody needs to ask. Only objects of the types in `depends_on` change this.
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

# Constraints that do not name both groups and kinds match what nobody can list.
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
