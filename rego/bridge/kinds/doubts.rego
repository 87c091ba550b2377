package bridge.kinds

import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.lookup

# METADATA
# description: |
#   The unknown kinds that accepted PolicyKinds name, by the PolicyKind's key, each as a message. They may be installed
#   later, so the PolicyKind counts.
doubts[key] := messages if {
	some name, policykind in lookup.objects_in(policykind_type, "-")
	key := concat("/", [policykind_type, "-", name])
	verdict(key).status == "True"
	messages := doubts_about(policykind.spec)
	count(messages) > 0
}

# METADATA
# description: The same for the spec of a PolicyKind.
doubts_about(spec) := [sprintf("targets[%d]: no CRD defines %q%s", [place, type, _type_hint(type)]) |
	some place, target in spec.targets
	not target.virtual
	type := type_of_target(target)
	not type in _known_types
	_is_doubtful(type)
]

_known_types := (object.keys(levels.by_type) | levels.virtual_types) | ((_types_with_crds | lookup.types) | ({concat("/", ["core", kind]) |
	some kind in core_kinds
} | {type | some type in object.keys(presets)}))

_types_with_crds := {concat("/", [crd.spec.group, crd.spec.names.kind]) | some crd in lookup.objects_in(crd_type, "-")}

# In a folder without CRDs the served kinds are unknown; only misspelled names are reported.
_is_doubtful(type) if _near_type(type)

_is_doubtful(type) if {
	group := split(type, "/")[0]
	some served in _types_with_crds
	startswith(served, concat("", [group, "/"]))
}

_is_doubtful(type) if {
	"gateway.networking.k8s.io/Gateway" in _types_with_crds
	not _is_built_in(split(type, "/")[0])
}

# A group that the API server serves without a CRD.
_is_built_in(group) if not contains(group, ".")

_is_built_in(group) if {
	endswith(group, ".k8s.io")
	not endswith(group, ".x-k8s.io")
	group != "gateway.networking.k8s.io"
}

_type_hint(type) := sprintf("; did you mean %q?", [_near_type(type)]) if {
	true
} else := ""

# A kind of another group only if the groups are similar too: many groups have a Gateway.
_near_type(type) := near if {
	near := likeness.nearest_type(type, _known_types)
	[group, near_group] := [split(type, "/")[0], split(near, "/")[0]]
	likeness.nearest(group, {near_group})
}
