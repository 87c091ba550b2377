package bridge.policy_test

import data.bridge.testing

# F7
test_a_strategy_is_the_kinds_word_or_gep_713s_name if {
	every row in [
		[{}, "AtomicDefaults"],
		[{"strategy": null}, "AtomicDefaults"],
		[{"strategy": "atomic"}, "AtomicDefaults"],
		[{"strategy": "patch"}, "PatchDefaults"],
		[{"strategy": "Patch"}, "PatchDefaults"],
		[{"strategy": "PatchOverrides"}, "PatchOverrides"],
		[{"strategy": "Patch overrides"}, "PatchOverrides"],
		[{"defaults": {"strategy": "patch"}}, "PatchDefaults"],
		[{"overrides": {"strategy": "patch"}}, "PatchOverrides"],
		[{"overrides": {"strategy": "atomic"}}, "AtomicOverrides"],
		[{"defaults": {"strategy": "AtomicOverrides"}}, "AtomicOverrides"],
	] {
		_proper(row[0]).strategy == row[1]
	}
}

# C3, T2
test_an_unknown_strategy_is_an_error_and_so_is_none_of_an_inherited_kind if {
	known := "AtomicDefaults, AtomicOverrides, PatchDefaults, PatchOverrides, atomic, patch"
	every row in [["mix", "mix"], ["None", "None"], [3, "3"], [["patch"], `["patch"]`], ["", ""], [false, "false"]] {
		[value, shown] := row
		_proper({"strategy": value}) == {"error": sprintf("Strategy %s is unknown; known are %s", [shown, known])}
	}
}

# F7
test_a_granularity_alone_takes_the_direction_of_the_kinds_default if {
	kind := testing.policykind(object.union(testing.color_kind, {"kind": "HuePolicy", "defaultStrategy": "AtomicOverrides"}))
	policy := object.union(testing.color("shop", "warm", 1, [_cart_ref], {"strategy": "patch"}), {"kind": "HuePolicy"})
	proper := _said("example.com/HuePolicy/shop/warm") with input as testing.changed([kind, policy])
	proper == {"spec": {}, "strategy": "PatchOverrides", "pointers": {""}}
}

# C2
test_a_direct_policy_names_no_strategy_but_none if {
	kind := testing.policykind(object.union(testing.timeout_kind, {"specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]}))
	others := [obj | some obj in testing.world; obj.metadata.name != "timeoutpolicy"]
	proper := [found |
		some strategy in ["None", "PatchOverrides", "Atomic"]
		policy := testing.timeout("slow", 1, [testing.service_ref("cart")], {"strategy": strategy})
		found := _said("example.com/TimeoutPolicy/shop/slow") with input as {"changes": {"upsert": array.concat(others, [kind, policy])}}
	]
	proper == [
		{"spec": {}, "strategy": "None", "pointers": {""}},
		{"error": "Strategy PatchOverrides is unknown; known are None"},
		{"error": "Strategy Atomic is unknown; known are None"},
	]
}
