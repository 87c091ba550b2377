package bridge.kinds

import data.bridge.lib.levels
import data.bridge.merge

_value_problems(spec) := [message |
	some field, allowed in _values
	value := object.get(spec, field, allowed[0])
	not value in allowed
	message := sprintf("%s: %v is none of %s", [field, value, concat(", ", allowed)])
]

# What a field may say; the first is its default.
_values := {
	"class": ["Inherited", "Direct"],
	"mode": ["Observe", "Manage"],
	"effectiveTarget": levels.names,
	"crossNamespace": ["Forbidden", "ReferenceGrant", "Consumer"],
	"sameLevel": ["OlderEstablished", "OldestWins", "Conflict", "ConflictOnOverlap"],
	"strategyFrom": ["Established", "Challenger"],
	"mergesWith": ["All", "Closest"],
	"fold": ["BottomUp", "Stack"],
	"wrappers": ["One", "Both"],
	"conditions": ["Programmed", "Enforced"],
	"statusShape": ["Conditions", "Ancestors"],
	"ancestorLevel": levels.names,
	"fanout": ["EffectiveTargets", "DeclaredTargets", "None"],
	"defaultStrategy": sort(object.keys(merge.strategies)),
}
