package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lib.schema
import data.bridge.lookup
import data.bridge.merge

# The errors of a PolicyKind itself, independent of other layers.
own_problems(spec) := array.concat(schema.problems("PolicyKind", spec), [sprintf("strategies.%s: %s is not a strategy%s", [name, json.marshal(meaning), likeness.hint(sprintf("%v", [meaning]), _known_strategies)]) |
	some name, meaning in spec.strategies
	not strategy_of(meaning) in _known_strategies
])

# A schema cannot have two forms of one value.
_known_strategies := object.keys(merge.strategies) | {"Atomic", "Patch"}

# Why a policy kind's description is invalid; undefined if it is valid (semantics C1 to C3).
problem(spec) := problems(spec)[0]

# All problems of a policy kind's description, in a stable order: fields that contradict each other, then those that can
# have no effect with the others and kinds at which its policies can never act, with the place of the field (semantics
# C3).
problems(spec) := array.flatten([
	["effectiveTarget is missing: an Inherited kind needs the level at which it acts" |
		not direct
		object.get(spec, "effectiveTarget", "") == ""
	],
	# In all cases in which a policy could have None.
	["strategy None needs class Direct: an Inherited kind merges along the hierarchy" | not direct; "None" in strategies],
	# If policies of a kind select by fields, wider and narrower ones merge at one target (semantics T8).
	["class Direct allows only the strategies None and Additive" |
		direct
		not spec.selectors
		count(strategies - {"None", "Additive"}) > 0
	],
	["strategy Additive merges nothing, every policy applies: set it as defaultStrategy, without strategies, strategyPath, sameLevel, parentLevels, custom and merge" |
		"Additive" in strategies
		_states_other_merging(spec, strategies)
	],
	["order needs defaultStrategy Additive: it orders policies that all apply" |
		spec.order
		object.get(spec, "defaultStrategy", "") != "Additive"
	],
	["class Direct allows only sameLevel Conflict, ConflictOfAll, NoneOfSeveral and ConflictOnOverlap: only the older of two policies for one target is accepted" |
		direct
		object.get(spec, "defaultStrategy", "None") == "None"
		object.get(spec, "sameLevel", "Conflict") in {"OlderEstablished", "OldestWins"}
	],
	["class Direct merges nothing: parentLevels needs class Inherited" | direct; spec.parentLevels],
	["parentLevels merges two policies: sameLevel OldestWins does not apply" | spec.parentLevels; spec.sameLevel == "OldestWins"],
	["delegation needs class Inherited, and sameLevel OldestWins: it is about levels of routes, and not about their policies" |
		spec.delegation
		[direct, object.get(spec, "sameLevel", "") == "OldestWins"] != [false, true]
	],
	["strategies: merge rules for one strategy need parentLevels, where the most specific policy chooses them for both policies: set merge for the kind" |
		not spec.parentLevels
		{true | spec.strategies[_].merge} != set()
	],
	["controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name" |
		spec.mode == "Manage"
		not regex.match(_controller_name, object.get(spec, "controllerName", ""))
	],
	["strategy Custom needs custom: the name of its package in bridge.strategies" | "Custom" in strategies; not spec.custom],
	["custom merges by its own Rego: merge has no effect on it" | spec.custom; spec.merge],
	[sprintf("effectiveTarget: %q needs class Inherited: a Direct policy acts at its target", [spec.effectiveTarget]) |
		direct
		spec.effectiveTarget in levels.names
		spec.effectiveTarget != "Target"
	],
	# The specs of a Direct kind that do not overlap are united, leaf by leaf; then units are leaves (semantics C2, F8).
	["merge needs class Inherited: a Direct policy merges with no other" |
		direct
		not spec.selectors
		count(object.get(spec, "merge", {})) > 0
		object.get(spec, "sameLevel", "Conflict") != "ConflictOnOverlap"
	],
	[message | not direct; message := _out_of_reach(spec)],
	_core_targets(spec),
	_empty_pointers(spec),
	[sprintf("merge.listKeys: %q is not a JSON pointer to a list, such as /rules", [pointer]) |
		# By the CRD's validation rules: the schema describes values of a map, not its keys.
		some pointer, _ in spec.merge.listKeys
		not regex.match(`^(/([^~/]|~[01])*)+$`, pointer)
	],
	_unlisted_targets(spec),
]) if {
	direct := object.get(spec, "class", "Inherited") == "Direct"
	strategies := supported_strategies(spec) | {spec.defaultStrategy | spec.defaultStrategy}
}

# Gateway API, GatewayController. Its domain is part of condition types, whose form the API server validates.
_controller_name := `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/._~%!$&'()*+,;=:-]+$`

_out_of_reach(spec) := sprintf("effectiveTarget: %q is above every kind of targets: a policy on %s (targets[0]) reaches no %s", [
	spec.effectiveTarget,
	keys.with_article(spec.targets[0].kind),
	spec.effectiveTarget,
]) if {
	_ranks[spec.effectiveTarget]
	every target in spec.targets {
		_ranks[_level_of_target(spec, target)] > _ranks[spec.effectiveTarget]
	}
}

# The order of levels, top down. A mesh frontend is above routes, and below nothing (semantics K4). Only an extension
# knows the order of other levels and of types without a level.
_ranks := {"GatewayClass": 1, "Gateway": 2, "ListenerSet": 3, "Listener": 4, "Frontend": 5, "Route": 6, "Rule": 7, "Backend": 8, "Port": 9}

_level_of_target(spec, target) := "Frontend" if {
	type_of_target(target) == "core/Service"
	object.get(target, "role", usual_role(spec.effectiveTarget)) == "Frontend"
} else := levels.by_type[type_of_target(target)].object

type_of_target(target) := concat("/", [keys.group_name(object.get(target, "group", "")), target.kind])

# The core group has no CRDs, so its kinds are known.
_core_targets(spec) := [sprintf("targets[%d]: the core group has no kind %q%s", [place, target.kind, _core_hint(target.kind)]) |
	some place, target in spec.targets
	object.get(target, "group", "") in {"", "core"}
	not target.kind in _core_kinds
	not target.virtual
	not type_of_target(target) in (object.keys(levels.by_type) | levels.virtual_types)
]

_core_hint(kind) := sprintf("; did you mean %s?", [named[0]]) if {
	named := sort([type | some type, _ in levels.by_type; split(type, "/")[1] == kind])
} else := likeness.hint(kind, _core_kinds)

_states_other_merging(spec, _) if object.get(spec, "defaultStrategy", "") != "Additive"
_states_other_merging(_, strategies) if strategies != {"Additive"}
_states_other_merging(spec, _) if spec.specPaths[_].strategyPath
_states_other_merging(spec, _) if object.get(spec, "merge", {}) != {}
_states_other_merging(spec, _) if object.get(spec, "sameLevel", "OlderEstablished") != "OlderEstablished"
_states_other_merging(spec, _) if "parentLevels" in object.keys(spec)

# The kinds that are objects of Kubernetes' groups whose names have no dot, so no CRD can have them.
_built_in := {
	"core": _core_kinds,
	"apps": {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
	"autoscaling": {"HorizontalPodAutoscaler"},
	"batch": {"CronJob", "Job"},
	"policy": {"PodDisruptionBudget", "PodSecurityPolicy"},
}

_core_kinds := {
	"ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod",
	"PodTemplate", "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
}

_built_in_types := {concat("/", [group, kind]) | some group, names_in_group in _built_in; some kind in names_in_group}

_empty_pointers(spec) := [sprintf("specPaths[%d].%s: %q names a field without a name%s", [place, field, entry[field], hint]) |
	some place, entry in spec.specPaths
	some field in ["path", "strategyPath"]
	"" in array.slice(split(entry[field], "/"), 1, 100)
	hint := concat("", [`; did you mean "/spec"?` | [field, entry[field]] == ["path", "/"]])
]

# Kinds that a PolicyKind selects but does not list as targets, each as a message with its place.
_unlisted_targets(spec) := [sprintf("selectors[%d].targets[%d]: targets does not list %s", [place, number, target.kind]) |
	listed := {type_of_target(target) | some target in spec.targets}
	some place, entry in spec.selectors
	some number, target in entry.targets
	not type_of_target(target) in listed
] if {
	spec.targets
} else := []

# The unknown kinds that accepted PolicyKinds name, by the PolicyKind's key, each as a message. They may be installed
# later, so the PolicyKind counts.
doubts[key] := messages if {
	some name, policykind in lookup.objects_in(policykind_type, "-")
	key := concat("/", [policykind_type, "-", name])
	verdict(key).status == "True"
	messages := doubts_about(policykind.spec)
	count(messages) > 0
}

doubts_about(spec) := [sprintf("targets[%d]: %s", [place, unknown_type(type_of_target(target))]) |
	some place, target in spec.targets
	not target.virtual
]

# METADATA
# description: That no CRD defines a type, with the nearest name. Undefined if one does, or if that is not known.
unknown_type(type) := sprintf("no CRD defines %q%s", [type, _type_hint(type)]) if {
	not type in known_types
	_is_doubtful(type)
}

# METADATA
# description: What to write instead of a text that is the name of no API group. Undefined if it may be one.
advice_for_group("core") := `the core group is ""`

advice_for_group(group) := `the core group is ""` if regex.match(`^v[0-9]+((alpha|beta)[0-9]+)?$`, group)

advice_for_group(group) := sprintf("write %q", [split(group, "/")[0]]) if contains(group, "/")

# METADATA
# description: |
#   What is wrong with the group and kind that an object names, `[message, misspelled]`: whether it is certainly none, not
#   one whose CRD is not here. Undefined if the kind exists, or if that is not known.
problem_of_reference(group, kind) := [sprintf("no API group is %q; %s", [group, advice_for_group(group)]), true] if {
	true
} else := [unknown_type(type), is_like_another] if {
	type := concat("/", [keys.ref_group(group), kind])
	is_like_another := _has_near_type(type)
}

_has_near_type(type) if {
	_near_type(type)
} else := false

# METADATA
# description: The types that exist as far as this OPA knows, with those of Kubernetes and of presets.
known_types := ((object.keys(levels.by_type) | levels.virtual_types) | names) | ((_types_with_crds | lookup.types) | (_built_in_types | {type |
	some type in object.keys(presets)
}))

_types_with_crds := {concat("/", [crd.spec.group, crd.spec.names.kind]) | some crd in lookup.objects_in(crd_type, "-")}

# In a folder without CRDs the served kinds are unknown; only misspelled names are reported.
_is_doubtful(type) if {
	_near_type(type)
} else if {
	not contains(split(type, "/")[0], ".")
} else if {
	group := split(type, "/")[0]
	some served in _types_with_crds
	startswith(served, concat("", [group, "/"]))
} else if {
	"gateway.networking.k8s.io/Gateway" in _types_with_crds
	not _is_built_in(split(type, "/")[0])
}

# A group that the API server serves without a CRD.
_is_built_in(group) if {
	not contains(group, ".")
} else if {
	endswith(group, ".k8s.io")
	not endswith(group, ".x-k8s.io")
	group != "gateway.networking.k8s.io"
}

_type_hint(type) := sprintf("; did you mean %q?", [_near_type(type)]) if {
	true
} else := ""

# A kind of another group only if the groups are similar too, or both Kubernetes': many groups have a Gateway.
_near_type(type) := near if {
	near := likeness.nearest_type(type, known_types)
	[group, near_group] := [split(type, "/")[0], split(near, "/")[0]]
	likeness.nearest(group, {near_group})
} else := min(others) if {
	[group, kind] := split(type, "/")
	not contains(group, ".")
	others := {other | some other in _built_in_types; endswith(other, concat("", ["/", kind]))}
	others != set()
}

# Fields that presets read but that the schemas of the installed CRDs lack, as messages by the CRD's key: the installed
# release differs from the release of the preset. A schema that allows any field, or without fields of spec, has all
# fields. A PolicyKind with `specPaths` replaces the fields of the preset.
preset_doubts[crds[type].key] := messages if {
	some type, preset in presets
	crds[type]
	not declared_specs[type].specPaths
	count(spec_schema(type)) > 0
	messages := [sprintf("the preset reads %s, and the schema has no such field: the preset is for another release", [path]) |
		some path in _paths_read(preset)
		not _has_field(crds[type].schema, path)
	]
	count(messages) > 0
}

_paths_read(preset) := sort({path |
	some list in ["specPaths", "order", "selectors"]
	some place in preset[list]
	some field in ["path", "strategyPath", "namespaces"]
	path := place[field]
})

_has_field(schema, path) if {
	object.get(schema, _in_schema(split(trim_prefix(path, "/"), "/")), null) != null
} else if {
	segments := split(trim_prefix(path, "/"), "/")
	some end in numbers.range(0, count(segments) - 1)
	object.get(schema, array.concat(_in_schema(array.slice(segments, 0, end)), ["x-kubernetes-preserve-unknown-fields"]), false) == true
}

_in_schema(segments) := array.flatten([["properties", segment] | some segment in segments])
