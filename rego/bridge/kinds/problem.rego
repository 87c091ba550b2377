package bridge.kinds

import data.bridge.lib.likeness
import data.bridge.lib.schema
import data.bridge.merge

# METADATA
# description: The errors of a PolicyKind itself, independent of other layers.
own_problems(spec) := array.concat(schema.problems("PolicyKind", spec), [sprintf("strategies.%s: %s is not a strategy%s", [name, json.marshal(meaning), likeness.hint(sprintf("%v", [meaning]), _known_strategies)]) |
	some name, meaning in spec.strategies
	not strategy_of(meaning) in _known_strategies
])

# A schema cannot have two forms of one value.
_known_strategies := object.keys(merge.strategies) | {"Atomic", "Patch"}

# METADATA
# description: Why a policy kind's description is invalid; undefined if it is valid (semantics C1 to C3).
problem(spec) := problems(spec)[0]

# METADATA
# description: |
#   All problems of a policy kind's description, in a stable order, such as an Inherited kind with None (semantics C3).
problems(spec) := array.concat(_class_problems(spec), contradictions(spec))

_class_problems(spec) := [message |
	some [wrong, message] in [
		[_missing_effective_target(spec), "effectiveTarget is missing: an Inherited kind needs the level at which it acts"],
		[_inherited_none(spec), "strategy None needs class Direct: an Inherited kind merges along the hierarchy"],
		[_direct_merge(spec), "class Direct allows only the strategies None and Additive"],
		[_additive_merge(spec), "strategy Additive merges nothing, every policy applies: set it as defaultStrategy, without strategies, strategyPath, sameLevel, parentLevels, custom and merge"],
		[_order_of_others(spec), "order needs defaultStrategy Additive: it orders policies that all apply"],
		[_direct_order(spec), "class Direct allows only sameLevel Conflict and ConflictOnOverlap: only the older of two policies for one target is accepted"],
		[_direct_parents(spec), "class Direct merges nothing: parentLevels needs class Inherited"],
		[_parents_of_levels(spec), "parentLevels merges two policies: sameLevel OldestWins does not apply"],
		[_rules_of_strategies(spec), "strategies: merge rules for one strategy need parentLevels, where the most specific policy chooses them for both policies: set merge for the kind"],
		[_nameless_manage(spec), "controllerName is missing or not <domain>/<name>: mode Manage writes statuses in its name"],
		[_nameless_custom(spec), "strategy Custom needs custom: the name of its package in bridge.strategies"],
		[_custom_rules(spec), "custom merges by its own Rego: merge has no effect on it"],
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

_says_how_to_merge(spec) if object.get(spec, "sameLevel", "OlderEstablished") != "OlderEstablished"

_says_how_to_merge(spec) if spec.parentLevels

_order_of_others(spec) if {
	spec.order
	object.get(spec, "defaultStrategy", "") != "Additive"
} else := false

_direct_order(spec) if {
	object.get(spec, "defaultStrategy", "None") == "None"
	class_of(spec) == "Direct"
	object.get(spec, "sameLevel", "Conflict") in {"OlderEstablished", "OldestWins"}
} else := false

_direct_parents(spec) if {
	class_of(spec) == "Direct"
	spec.parentLevels
} else := false

_parents_of_levels(spec) if {
	spec.parentLevels
	spec.sameLevel == "OldestWins"
} else := false

_rules_of_strategies(spec) if {
	some meaning in spec.strategies
	meaning.merge
	not spec.parentLevels
} else := false

_custom_rules(spec) if {
	spec.custom
	spec.merge
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
