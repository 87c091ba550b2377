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
#   The traits of a kind's description: `plain`: it joins every policy of a path from the most specific one upward, each
#   by its own strategy, and applies their specs by RFC 7386 only (GEP-713; semantics F1, F2); `sourceless`: the
#   effective policy at a target is the same for all sources of requests, unless a mesh frontend is above it;
#   `namespaces`: its paths name Namespaces (P3); `objects`, `sections`: the types whose objects, or all of whose
#   sections, are its effective targets.
traits_of(kind) := {
	"plain": _is_plain(kind),
	"sourceless": _is_sourceless(kind),
	"namespaces": _names_namespaces(kind),
	"objects": {type | some type, level in _types_acted_on(kind); level.object == kind.effectiveTarget},
	"sections": {type | some type, level in _types_acted_on(kind); level.section == kind.effectiveTarget; type != "core/Service"},
}

_is_plain(kind) if {
	kind.defaultStrategy != "Additive"
	[kind.strategyFrom, kind.mergesWith, kind.fold, kind.wrappers] == ["Established", "All", "BottomUp", "One"]
	not _is_by_level(kind)
	not kind.rules
	not kind.strategyRules
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
	_acts_on_type(kind, type)
}

_acts_on_type(kind, _) if not kind.effectiveKinds

_acts_on_type(kind, type) if {
	some name in [type, split(type, "/")[1]]
	name in kind.effectiveKinds
}

# METADATA
# description: |
#   The policies of one level, or of one target, are one side of a fold: if the oldest of a level wins (semantics F5),
#   and if the specs of a Direct kind at one target are united (C2) or meet for the requests of one consumer (P6).
merges_by_level(policy_kind) if {
	_is_by_level(get(policy_kind))
} else := false

_is_by_level(kind) if {
	kind.sameLevel == "OldestWins"
} else if {
	kind.class == "Direct"
	kind.sameLevel == "ConflictOnOverlap"
} else if {
	kind.class == "Direct"
	kind.crossNamespace == "Consumer"
}

# METADATA
# description: Every policy of a kind applies, and none overrides another (strategy Additive; semantics C4).
is_additive(policy_kind) if {
	get(policy_kind).defaultStrategy == "Additive"
} else := false

# METADATA
# description: A fold goes from the bottom up (semantics F2), and not from the top down (F4, strategyFrom and Stack).
folds_upward(policy_kind) if {
	get(policy_kind).strategyFrom == "Established"
	get(policy_kind).fold == "BottomUp"
} else := false

# METADATA
# description: Every wrapper of a policy counts in its direction (`wrappers` Both; semantics F6).
merges_parts(policy_kind) if {
	get(policy_kind).wrappers == "Both"
} else := false
