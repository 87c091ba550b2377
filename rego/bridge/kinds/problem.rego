package bridge.kinds

# METADATA
# description: Why a policy kind's description is invalid; undefined if it is valid (semantics C1 to C3).
problem(spec) := problems(spec)[0] if count(problems(spec)) > 0

# METADATA
# description: |
#   All problems of a policy kind's description, in a stable order, such as an Inherited kind with None (semantics C3).
problems(spec) := shape_problems(spec) if {
	count(shape_problems(spec)) > 0
} else := array.flatten([_class_problems(spec), value_problems(spec), contradictions(spec)])

_class_problems(spec) := [message |
	some [wrong, message] in [
		[_missing_effective_target(spec), "effectiveTarget is missing: an Inherited kind needs the level at which it acts"],
		[_inherited_none(spec), "strategy None needs class Direct: an Inherited kind merges along the hierarchy"],
		[_direct_merge(spec), "class Direct allows only the strategies None and Additive"],
		[_additive_merge(spec), "strategy Additive merges nothing, every policy applies: set it as defaultStrategy, without strategies, strategyPath, sameLevel, strategyFrom, mergesWith, fold, wrappers, custom and merge"],
		[_order_of_others(spec), "order needs defaultStrategy Additive: it orders policies that all apply"],
		[_direct_order(spec), "class Direct allows only sameLevel Conflict and ConflictOnOverlap: only the older of two policies for one target is accepted"],
		[_direct_fold(spec), "class Direct merges nothing: strategyFrom, mergesWith, fold and wrappers need class Inherited"],
		[_two_folds(spec), "fold: Stack uses the strategy of the higher policy of a pair, strategyFrom: Challenger that of the lower one: set only one of them"],
		[_nameless_manage(spec), "controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name"],
		[_both_atomic(spec), "wrappers: Both merges by field: strategies in specPaths must be PatchDefaults or PatchOverrides"],
		[_both_named(spec), "wrappers: Both allows no strategies, strategyPath, defaultStrategy or custom: the wrapper sets the direction, and the granularity is Patch"],
		[_both_level(spec), "wrappers: Both needs sameLevel OldestWins: within a level the oldest wins"],
		[_both_fold(spec), "wrappers: Both has its own order: omit strategyFrom and fold"],
		[_parents_of_all(spec), "parentLevels needs mergesWith Closest: it selects the policy above that merges with the most specific one"],
		[_nameless_custom(spec), "strategy Custom needs custom: the name of its package in bridge.strategies"],
	]
	wrong
]

_missing_effective_target(spec) if {
	class_of(spec) == "Inherited"
	object.get(spec, "effectiveTarget", "") == ""
} else := false

# All cases in which a policy could have None.
_inherited_none(spec) if {
	class_of(spec) == "Inherited"
	"None" in _strategies(spec)
} else := false

# Of a kind whose policies select by fields, wider and narrower ones merge at one target (semantics T8).
_direct_merge(spec) if {
	class_of(spec) == "Direct"
	not spec.selectors
	count(_strategies(spec) - {"None", "Additive"}) > 0
} else := false

_additive_merge(spec) if {
	"Additive" in _strategies(spec)
	_says_how_to_merge(spec)
} else := false

_says_how_to_merge(spec) if object.get(spec, "defaultStrategy", "") != "Additive"

_says_how_to_merge(spec) if count(_strategies(spec) - {"Additive"}) > 0

_says_how_to_merge(spec) if spec.specPaths[_].strategyPath

_says_how_to_merge(spec) if count(object.get(spec, "merge", {})) > 0

_says_how_to_merge(spec) if {
	some field in ["sameLevel", "strategyFrom", "mergesWith", "fold", "wrappers"]
	usual := allowed_values[field][0]
	object.get(spec, field, usual) != usual
}

_order_of_others(spec) if {
	spec.order
	object.get(spec, "defaultStrategy", "") != "Additive"
} else := false

_direct_order(spec) if {
	object.get(spec, "defaultStrategy", "None") == "None"
	class_of(spec) == "Direct"
	object.get(spec, "sameLevel", "Conflict") in {"OlderEstablished", "OldestWins"}
} else := false

# None merges no pair, so these fields could have no effect (semantics C2).
_direct_fold(spec) if {
	class_of(spec) == "Direct"
	some field, allowed in object.filter(allowed_values, ["strategyFrom", "mergesWith", "fold", "wrappers"])
	object.get(spec, field, allowed[0]) != allowed[0]
} else := false

_two_folds(spec) if {
	spec.fold == "Stack"
	spec.strategyFrom == "Challenger"
} else := false

# The historic form: each policy has overrides and defaults, by field, in one order (semantics F6).
_both_atomic(spec) if {
	spec.wrappers == "Both"
	some place in spec.specPaths
	not object.get(place, "strategy", "PatchDefaults") in {"PatchDefaults", "PatchOverrides"}
} else := false

_both_named(spec) if {
	spec.wrappers == "Both"
	some value in array.concat(
		[value | some field in ["strategies", "defaultStrategy", "custom"]; value := spec[field]],
		[place.strategyPath | some place in spec.specPaths],
	)
	not value in {{}, "PatchDefaults"}
} else := false

_both_level(spec) if {
	spec.wrappers == "Both"
	object.get(spec, "sameLevel", "OldestWins") != "OldestWins"
} else := false

_both_fold(spec) if {
	spec.wrappers == "Both"
	some field, usual in {"strategyFrom": "Established", "fold": "BottomUp"}
	object.get(spec, field, usual) != usual
} else := false

_parents_of_all(spec) if {
	spec.parentLevels
	object.get(spec, "mergesWith", "All") != "Closest"
} else := false

_nameless_custom(spec) if {
	"Custom" in _strategies(spec)
	not spec.custom
} else := false

_nameless_manage(spec) if {
	spec.mode == "Manage"
	not regex.match(_controller_name, object.get(spec, "controllerName", ""))
} else := false

# Gateway API, GatewayController. Its domain is part of condition types, whose form the API server validates.
_controller_name := `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/._~%!$&'()*+,;=:-]+$`

# METADATA
# description: The class of a description, by default Inherited.
class_of(spec) := object.get(spec, "class", "Inherited")

_strategies(spec) := supported_strategies(spec) | {spec.defaultStrategy | spec.defaultStrategy}
