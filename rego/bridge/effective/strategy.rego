package bridge.effective

import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.merge

# The strategy of a policy, `{strategy}`, or `{error}` where what it names is unknown (semantics F7, T2).
_strategy(policy_key) := _resolved(kinds.of_policy(policy_key), _place(policy_key), value) if {
	value := _strategy_value(policy_key)
} else := {"strategy": _default_strategy(policy_key)}

_strategy_value(policy_key) := value if {
	value := object.get(lookup.get(policy_key), leaves.segments(_place(policy_key).strategyPath), null)
	value != null
}

_default_strategy(policy_key) := _place(policy_key).strategy

_default_strategy(policy_key) := kinds.of_policy(policy_key).defaultStrategy if not _place(policy_key).strategy

_resolved(kind, place, value) := {"strategy": named[0]} if {
	meaning := object.get(kind.strategies, [value], value)
	named := [name |
		some name, title in merge.strategies
		_same_name(meaning, name, title)
		_suits(kind, name)
	]
} else := {"strategy": concat("", [meaning, _direction(kind, place)])} if {
	meaning := object.get(kind.strategies, [value], value)
	meaning in {"Atomic", "Patch"}
	kind.class == "Inherited"
} else := {"error": message} if {
	known := object.keys(kind.strategies) | {name | some name, _ in merge.strategies; _suits(kind, name)}
	message := sprintf("Strategy %v is unknown; known are %s", [value, concat(", ", sort(known))])
}

# None stands alone: a Direct kind has no other strategy, an Inherited kind does not have it (semantics C2, C3).
_suits(kind, "None") if kind.class == "Direct"

_suits(kind, name) if {
	kind.class == "Inherited"
	name != "None"
}

_same_name(text, name, _) if text == name

_same_name(text, _, title) if lower(text) == lower(title)

# A granularity takes its wrapper's direction, else that of the kind's default strategy (semantics F7).
_direction(kind, place) := "Overrides" if endswith(object.get(place, "strategy", kind.defaultStrategy), "Overrides")

_direction(kind, place) := "Defaults" if not endswith(object.get(place, "strategy", kind.defaultStrategy), "Overrides")
