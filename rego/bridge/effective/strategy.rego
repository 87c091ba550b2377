package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.merge

# METADATA
# description: |
#   The strategy of a policy, `{strategy}`, or `{error}` where what it names is unknown (semantics F7, T2).
made_strategy(policy_key) := {"strategy": _strongest(policy_key)} if {
	both(keys.parse(policy_key).type)
} else := _meant(keys.parse(policy_key).type, place.strategy, value) if {
	place := _place(policy_key)
	count(place.strategySegments) > 0
	value := _at(policy_key, place.strategySegments)
	value != null
} else := {"strategy": _place(policy_key).strategy} if {
	_place(policy_key).strategy != ""
} else := {"strategy": kinds.of_policy(policy_key).defaultStrategy}

# METADATA
# description: |
#   What a policy's pairs are merged by where it has the say, `{strategy, rules}`; for Custom also `custom`, the name of its
#   package and the policy kind. The rules that go with what it says at
#   strategyPath replace the kind's, for both specs of the pair (semantics F7).
made_how(policy_key) := object.union(
	{"strategy": made_strategy(policy_key).strategy, "rules": made_merge_rules(policy_key)},
	{"custom": [kinds.of_policy(policy_key).custom, keys.parse(policy_key).type] | made_strategy(policy_key).strategy == "Custom"},
)

# METADATA
# description: The rules of a policy's own strategy, by which its spec has its leaves (semantics F7, F8).
made_merge_rules(policy_key) := made_strategy(policy_key).rules if {
	true
} else := object.get(kinds.of_policy(policy_key), "rules", [])

# What a value means that a policy of a kind has for its strategy, in a wrapper of a strategy ("": a bare spec).
_meant(policy_kind, wrapper, value) := object.union(
	_named(policy_kind, wrapper, value),
	{"rules": rules | rules := kinds.get(policy_kind).strategyRules[value]},
)

_named(policy_kind, wrapper, value) := {"strategy": concat("", [meaning, _direction(policy_kind, wrapper)])} if {
	meaning := _meaning(policy_kind, value)
	meaning in {"Atomic", "Patch"}
	not kinds.direct(policy_kind)
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

# None stands alone: a Direct kind has no other strategy, an Inherited kind does not have it (semantics C2, C3).
_suits(policy_kind, "None") if kinds.direct(policy_kind)

_suits(policy_kind, name) if {
	not kinds.direct(policy_kind)
	not name in {"None", "Custom"}
}

_suits(policy_kind, "Custom") if kinds.get(policy_kind).custom

_same_name(text, name, _) if text == name

_same_name(text, _, title) if lower(text) == lower(title)

# A granularity takes its wrapper's direction, else that of the kind's default strategy (semantics F7).
_direction(policy_kind, wrapper) := "Overrides" if {
	decisive := [name | some name in [wrapper, kinds.get(policy_kind).defaultStrategy]; name != ""][0]
	endswith(decisive, "Overrides")
} else := "Defaults"

# METADATA
# description: |
#   The strategy by which a policy and a younger one of its level are merged where the oldest of a level wins: the
#   granularity of its own, always in its favour (semantics F5). Of a Direct kind's disjoint specs both stay (semantics
#   C2); else the older one stands whole, over one that conflicts with it only for requests of its namespace (P6).
in_favour_of_the_older(policy_key) := replace(strategy_of(policy_key), "Defaults", "Overrides") if {
	not kinds.direct(keys.parse(policy_key).type)
} else := "PatchOverrides" if {
	kinds.of_policy(policy_key).sameLevel == "ConflictOnOverlap"
} else := "AtomicOverrides"
