package bridge.status

import data.bridge.kinds

# METADATA
# description: The condition type with which a policy kind marks objects that it affects.
affected_type(kind) := sprintf("%s/%sAffected", [_domain(kind), kind.kind])

# METADATA
# description: The condition type with which a policy kind marks an ancestor that a full list omits (semantics S3).
not_reported_type(kind) := sprintf("%s/%sNotReported", [_domain(kind), kind.kind])

_domain(kind) := split(kind.controllerName, "/")[0]

# METADATA
# description: All condition types of these forms that belong to the bridge, including those of former policy kinds.
our_types(former) := {type |
	some kind in _kinds(former)
	some type in {affected_type(kind), not_reported_type(kind)}
}

# METADATA
# description: The controllerNames of the active and the former policy kinds.
controllers(former) := {kind.controllerName | some kind in _kinds(former)}

_kinds(former) := {{"controllerName": kind.controllerName, "kind": kind.kind} |
	some name, _ in kinds.sets.managed
	kind := kinds.get(name)
} | {kind | some kind in former}
