package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness

# METADATA
# description: |
#   The contradictions in a policy kind's description, each as a message with the field and, in a list, its place:
#   fields that can have no effect with the others, and kinds at which its policies can never act.
contradictions(spec) := array.flatten([
	_direct_level(spec),
	_direct_merge_rules(spec),
	_out_of_reach(spec),
	_core_targets(spec),
	_empty_pointers(spec),
	_keys_that_are_no_pointers(spec),
	unlisted_targets(spec),
])

_direct_level(spec) := [sprintf("effectiveTarget: %q needs class Inherited: a Direct policy acts at its target", [spec.effectiveTarget])] if {
	class_of(spec) == "Direct"
	spec.effectiveTarget in levels.names
	spec.effectiveTarget != "Target"
} else := []

# The specs of a Direct kind that do not overlap are united, leaf by leaf; then units are leaves (semantics C2, F8).
_direct_merge_rules(spec) := ["merge needs class Inherited: a Direct policy merges with no other"] if {
	class_of(spec) == "Direct"
	not spec.selectors
	count(object.get(spec, "merge", {})) > 0
	object.get(spec, "sameLevel", "Conflict") != "ConflictOnOverlap"
} else := []

_out_of_reach(spec) := [message |
	every target in spec.targets {
		_is_below(_level_of_target(spec, target), spec.effectiveTarget)
	}
	message := sprintf("effectiveTarget: %q is above every kind of targets: a policy on a %s (targets[0]) reaches no %s", [
		spec.effectiveTarget,
		spec.targets[0].kind,
		spec.effectiveTarget,
	])
] if {
	class_of(spec) == "Inherited"
	_ranks[spec.effectiveTarget]
	count(spec.targets) > 0
} else := []

# The order of levels, top down. A mesh frontend is above routes, and below nothing (semantics K4). Only an extension
# knows the order of other levels and of types without a level.
_ranks := {"GatewayClass": 1, "Gateway": 2, "ListenerSet": 3, "Frontend": 4, "Listener": 4, "Route": 5, "Rule": 6, "Backend": 7, "Port": 8}

_is_below(level, effective_level) if _ranks[level] > _ranks[effective_level]

_is_below("Frontend", "Listener")

_level_of_target(spec, target) := "Frontend" if {
	type_of_target(target) == "core/Service"
	object.get(target, "role", _usual_role(spec)) == "Frontend"
} else := levels.by_type[type_of_target(target)].object

_usual_role(spec) := "Backend" if {
	spec.effectiveTarget in {"Backend", "Port", "Target"}
} else := "Frontend"

# METADATA
# description: The type that an entry of a description's targets names.
type_of_target(target) := concat("/", [keys.group_name(object.get(target, "group", "")), target.kind])

# The core group has no CRDs, so its kinds are known.
_core_targets(spec) := [sprintf("targets[%d]: the core group has no kind %q%s", [place, target.kind, _core_hint(target.kind)]) |
	some place, target in spec.targets
	object.get(target, "group", "") in {"", "core"}
	not target.kind in core_kinds
	not target.virtual
	not type_of_target(target) in (object.keys(levels.by_type) | levels.virtual_types)
]

_core_hint(kind) := sprintf("; did you mean %s?", [named[0]]) if {
	named := sort([type | some type, _ in levels.by_type; split(type, "/")[1] == kind])
	count(named) > 0
} else := likeness.hint(kind, core_kinds)

# METADATA
# description: The kinds of the core group that are objects.
core_kinds := {
	"ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod",
	"PodTemplate", "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
}

_empty_pointers(spec) := [sprintf("specPaths[%d].%s: %q names a field without a name%s", [place, field, entry[field], hint]) |
	some place, entry in spec.specPaths
	some field in ["path", "strategyPath"]
	"" in array.slice(split(entry[field], "/"), 1, 100)
	hint := {true: `; did you mean "/spec"?`, false: ""}[[field, entry[field]] == ["path", "/"]]
]

# By the CRD's validation rules: the schema describes values of a map, not its keys.
_keys_that_are_no_pointers(spec) := [sprintf("merge.listKeys: %q is not a JSON pointer to a list, such as /rules", [pointer]) |
	some pointer, _ in spec.merge.listKeys
	not regex.match(`^(/([^~/]|~[01])*)+$`, pointer)
]
