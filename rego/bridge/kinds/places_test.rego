package bridge.kinds_test

import data.bridge.kinds

_wrapped := [
	{"path": "/spec/overrides", "strategy": "AtomicOverrides", "strategyPath": "/spec/overrides/strategy"},
	{"path": "/spec/defaults", "strategy": "AtomicDefaults"},
	{"path": "/spec", "strategyPath": "/spec/merge/type", "without": ["note"]},
]

_refs := ["targetRefs", "targetRef", "targetSelectors"]

# F6
test_a_wrapper_excludes_the_other_and_all_that_is_no_ref_or_strategy_beside_it if {
	kinds.places(_wrapped)[0] == {
		"path": "/spec/overrides",
		"segments": ["spec", "overrides"],
		"strategy": "AtomicOverrides",
		"strategySegments": ["spec", "overrides", "strategy"],
		"otherStrategies": [["spec", "merge", "type"]],
		"drop": array.concat(_refs, ["strategy"]),
		"withLabels": [],
		"inner": [],
		"rivals": {"/spec/defaults": ["spec", "defaults"]},
		"holder": {
			"segments": ["spec"],
			"allowed": array.concat(array.concat(_refs, ["note"]), ["overrides", "defaults"]),
		},
	}
}

test_a_bare_spec_has_no_rival_and_a_strategy_inside_it_is_not_proper if {
	kinds.places(_wrapped)[2] == {
		"path": "/spec",
		"segments": ["spec"],
		"strategy": "",
		"strategySegments": ["spec", "merge", "type"],
		"otherStrategies": [],
		"drop": array.concat(_refs, ["note", "overrides", "defaults"]),
		"withLabels": [],
		"inner": [["merge", "type"]],
		"rivals": {},
		"holder": {},
	}
}

test_a_strategy_outside_the_spec_proper_leaves_it_whole if {
	place := kinds.places([{"path": "/spec/rules", "strategyPath": "/spec/strategy"}])[0]
	object.filter(place, ["drop", "inner", "strategySegments"]) == {
		"drop": _refs,
		"inner": [],
		"strategySegments": ["spec", "strategy"],
	}
}
