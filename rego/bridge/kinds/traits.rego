package bridge.kinds

import data.bridge.lib.levels

# METADATA
# description: |
#   Derived properties of a policy kind that most queries need, see `traits_of`. Stored in `data.kinds` as `traits`.
traits(policy_kind) := get(policy_kind).traits if {
	true
} else := traits_of(get(policy_kind))

# METADATA
# description: |
#   The traits of a kind's description: `joins`: what it joins on a path, every one of its `policies`, `levels`, or a
#   policy with one of its `parents` (see `effective.sides`); `plain`: it joins policies, and applies their specs by
#   RFC 7386 only (GEP-713; semantics F1, F2); `sourceless`: the
#   effective policy at a target is the same for all sources of requests, unless a mesh frontend is above it;
#   `namespaces`: its paths name Namespaces (P3); `objects`, `sections`: the types whose objects, or all of whose
#   sections, are its effective targets.
traits_of(kind) := {
	"joins": _joins(kind),
	"plain": _is_plain(kind),
	"sourceless": _is_sourceless(kind),
	"namespaces": _names_namespaces(kind),
	"objects": {type | some type, level in _types_acted_on(kind); level.object == kind.effectiveTarget},
	"sections": {type | some type, level in _types_acted_on(kind); level.section == kind.effectiveTarget; type != "core/Service"},
}

# The policies of one level, or of one target, are one side: if the oldest of a level wins (semantics F5), and if the
# specs of a Direct kind at one target are united (C2) or meet for the requests of one consumer (P6).
_joins(kind) := "parents" if {
	kind.parentLevels
} else := "levels" if {
	kind.sameLevel == "OldestWins"
} else := "levels" if {
	kind.class == "Direct"
	kind.sameLevel == "ConflictOnOverlap"
} else := "levels" if {
	kind.class == "Direct"
	kind.crossNamespace == "Consumer"
} else := "policies"

_is_plain(kind) if {
	_joins(kind) == "policies"
	kind.defaultStrategy != "Additive"
	not kind.rules
	not kind.custom
} else := false

_is_sourceless(kind) if {
	kind.class != "Direct"
	kind.crossNamespace != "Consumer"
	not kind.effectiveTarget in {"Target", "Backend", "Port"}
} else := false

_names_namespaces(kind) if {
	not kind.targets
} else if {
	some entry in kind.targets
	[entry.group, entry.kind] == ["core", "Namespace"]
} else := false

_types_acted_on(kind) := {type: level |
	not kind.effectiveTarget == "Target"
	some type, level in levels.by_type
	is_acted_on(kind, type)
}

# METADATA
# description: |
#   A kind acts on objects of a type, or on their sections: on its target kinds of its effective level; if there are
#   none, on all types (semantics P5).
is_acted_on(kind, _) if not kind.actsOn

is_acted_on(kind, type) if type in kind.actsOn

# METADATA
# description: Every policy of a kind applies, and none overrides another (strategy Additive; semantics C4).
is_additive(policy_kind) if {
	get(policy_kind).defaultStrategy == "Additive"
} else := false
