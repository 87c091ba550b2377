package bridge.policy

import data.bridge.kinds
import data.bridge.merge

# METADATA
# description: |
#   The strategy of a policy, `{strategy}`, with `rules` if its value at strategyPath has its own merge rules, which
#   replace the kind's; `{error}` if the value is unknown (semantics F7, T2).
strategy(type, obj) := _meant(type, found.strategy, value) if {
	found := place(type, obj)
	count(found.strategySegments) > 0
	value := value_at(obj, found.strategySegments)
	value != null
} else := {"strategy": place(type, obj).strategy} if {
	place(type, obj).strategy != ""
} else := {"strategy": kinds.get(type).defaultStrategy}

# The meaning of a policy's strategy value, in a wrapper of a strategy ("": a bare spec).
_meant(policy_kind, wrapper, value) := object.union(
	_named(policy_kind, wrapper, value),
	{"rules": rules | rules := kinds.get(policy_kind).strategyRules[value]},
)

_named(policy_kind, wrapper, value) := {"strategy": concat("", [meaning, _direction(policy_kind, wrapper)])} if {
	meaning := _meaning(policy_kind, value)
	meaning in {"Atomic", "Patch"}
	not kinds.is_direct(policy_kind)
} else := {"strategy": named[0]} if {
	meaning := _meaning(policy_kind, value)
	named := [name |
		some name, title in merge.strategies
		_same_name(meaning, name, title)
		_suits(policy_kind, name)
	]
} else := {"error": message} if {
	known := object.keys(kinds.get(policy_kind).strategies) | {name | some name, _ in merge.strategies; _suits(policy_kind, name)}
	message := sprintf("Strategy %v is unknown; known are %s", [value, concat(", ", sort(known))])
}

_meaning(policy_kind, value) := kinds.strategy_of(object.get(kinds.get(policy_kind).strategies, [value], value))

# None is exclusive: a Direct kind has no other strategy, an Inherited kind does not have it (semantics C2, C3).
_suits(policy_kind, "None") if kinds.is_direct(policy_kind)

_suits(policy_kind, name) if {
	not kinds.is_direct(policy_kind)
	not name in {"None", "Custom", "Additive"}
}

_suits(policy_kind, "Custom") if kinds.get(policy_kind).custom

_same_name(text, name, _) if text == name

_same_name(text, _, title) if lower(text) == lower(title)

# A granularity takes its wrapper's direction, otherwise that of the kind's default strategy (semantics F7).
_direction(policy_kind, wrapper) := "Overrides" if {
	decisive := [name | some name in [wrapper, kinds.get(policy_kind).defaultStrategy]; name != ""][0]
	endswith(decisive, "Overrides")
} else := "Defaults"
