package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.merge

# METADATA
# description: A policy kind's description with every default filled in (design, "Policy kinds"; semantics P5, C2).
normal_form(type, spec) := object.union_n([
	_defaults,
	_class_defaults[object.get(spec, "class", "Inherited")],
	{"defaultStrategy": _default_strategy(spec)},
	{"sameLevel": "OlderEstablished" | spec.defaultStrategy == "Additive"},
	object.remove(spec, ["targets"]),
	{"selectors": entries | entries := selector_entries(spec.selectors)},
	{"group": split(type, "/")[0], "places": places(object.get(spec, "specPaths", _defaults.specPaths))},
	{"schemaDefaults": given | given := schema_defaults(type, object.get(spec, "specPaths", [])); count(given) > 0},
	{"targets": targets | targets := _targets(spec)},
	{"rules": rules | rules := merge.rules(object.get(spec, "merge", {})); count(rules) > 0},
	{"strategyRules": by_value | by_value := _strategy_rules(spec); count(by_value) > 0},
	{"order": order | order := order_keys(spec.order)},
	{"actsOn": types | types := _acts_on(spec); count(types) > 0},
])

_defaults := {
	"class": "Inherited",
	"mode": "Observe",
	"crossNamespace": "Forbidden",
	"specPaths": [{"path": "/spec"}],
	"strategies": {},
	"conditions": "Programmed",
	"statusShape": "Conditions",
	"ancestorLevel": "Gateway",
}

_class_defaults := {
	"Direct": {"sameLevel": "Conflict", "effectiveTarget": "Target"},
	"Inherited": {"sameLevel": "OlderEstablished"},
}

_targets(spec) := [object.union(entry, {field: value | some field, value in target; field in {"role", "virtual", "protocols", "wholePorts"}}) |
	some target in spec.targets
	group := keys.group_name(object.get(target, "group", ""))
	entry := {"group": group, "kind": target.kind, "sections": object.get(target, "sections", false)}
] if {
	spec.targets
}

# The target kinds of the effective level. A target with the role of a mesh frontend is above routes, not a backend
# (semantics P5, K4).
_acts_on(spec) := {type |
	some target in spec.targets
	object.get(target, "role", "Backend") == "Backend"
	type := type_of_target(target)
	spec.effectiveTarget in ({levels.of_type(type)} | {level | level := levels.by_type[type].section})
}

_default_strategy(spec) := "None" if spec.class == "Direct"

_default_strategy(spec) := assumed if {
	object.get(spec, "class", "Inherited") == "Inherited"
	assumed := [name | some name in merge.assumed_order; name in supported_strategies(spec)][0]
} else := "AtomicDefaults" if {
	object.get(spec, "class", "Inherited") == "Inherited"
}

# METADATA
# description: The strategies that a policy of the kind can name, or have because of its wrapper.
supported_strategies(spec) := ({place.strategy | some place in spec.specPaths} | {name |
	some meaning in spec.strategies
	some name in _names(strategy_of(meaning))
}) | {"Custom" | spec.custom}

# METADATA
# description: The strategy of a value at strategyPath, `{strategy, merge}` or only a name (semantics F7).
strategy_of(meaning) := object.get(meaning, "strategy", null) if is_object(meaning)

strategy_of(meaning) := meaning if not is_object(meaning)

_strategy_rules(spec) := {value: merge.rules(meaning.merge) |
	some value, meaning in object.get(spec, "strategies", {})
	meaning.merge
}

_names(meaning) := {concat("", [meaning, "Defaults"]), concat("", [meaning, "Overrides"])} if {
	meaning in {"Atomic", "Patch"}
}

_names(meaning) := {meaning} if not meaning in {"Atomic", "Patch"}
