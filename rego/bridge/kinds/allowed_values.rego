package bridge.kinds

import data.bridge.lib.levels
import data.bridge.lib.likeness
import data.bridge.merge

# METADATA
# description: The fields of a policy kind's description whose value is not allowed, each as a message.
value_problems(spec) := [message |
	some field, allowed in allowed_values
	value := object.get(spec, field, allowed[0])
	not value in allowed
	message := sprintf("%s: %s is not one of %s%s", [field, json.marshal(value), concat(", ", allowed), likeness.hint(sprintf("%v", [value]), allowed)])
]

# METADATA
# description: The allowed values of a field; the first is its default.
allowed_values := {
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
