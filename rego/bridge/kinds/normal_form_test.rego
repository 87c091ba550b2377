package bridge.kinds_test

import data.bridge.kinds

_least := {"group": "acme.io", "kind": "RatePolicy", "effectiveTarget": "Route"}

test_an_inherited_kind_gets_every_default if {
	object.remove(kinds.normal_form("acme.io/RatePolicy", _least), ["places"]) == {
		"group": "acme.io",
		"kind": "RatePolicy",
		"class": "Inherited",
		"mode": "Observe",
		"crossNamespace": "Forbidden",
		"effectiveTarget": "Route",
		"specPaths": [{"path": "/spec"}],
		"strategies": {},
		"conditions": "Programmed",
		"ancestorLevel": "Gateway",
		"sameLevel": "OlderEstablished",
		"statusShape": "Conditions",
		"defaultStrategy": "AtomicDefaults",
	}
}

# C2
test_a_direct_kind_acts_at_its_target_without_merging if {
	normal := kinds.normal_form("acme.io/RatePolicy", {"kind": "RatePolicy", "class": "Direct"})
	object.filter(normal, ["class", "sameLevel", "effectiveTarget", "defaultStrategy"]) == {
		"class": "Direct",
		"sameLevel": "Conflict",
		"effectiveTarget": "Target",
		"defaultStrategy": "None",
	}
}

test_the_core_group_of_targets_gets_its_name if {
	targets := [{"kind": "Service"}, {"group": "", "kind": "Service", "sections": true}, {"group": "acme.io/v1", "kind": "X"}]
	kinds.normal_form("acme.io/RatePolicy", object.union(_least, {"targets": targets})).targets == [
		{"group": "core", "kind": "Service", "sections": false},
		{"group": "core", "kind": "Service", "sections": true},
		{"group": "acme.io", "kind": "X", "sections": false},
	]
}

# P5
test_the_target_kinds_of_the_effective_level_are_those_that_count if {
	targets := [
		{"group": "gateway.networking.k8s.io", "kind": "Gateway"},
		{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"},
	]
	frontend := {"group": "", "kind": "Service", "role": "Frontend"}
	every row in [
		[{"targets": array.concat(targets, [frontend]), "effectiveTarget": "Backend"}, null],
		[{"targets": [frontend, {"group": "acme.io", "kind": "Bucket"}], "effectiveTarget": "Backend"}, {"acme.io/Bucket"}],
		[{"targets": targets, "effectiveTarget": "Route"}, {"gateway.networking.k8s.io/HTTPRoute"}],
		[{"targets": targets, "effectiveTarget": "Rule"}, {"gateway.networking.k8s.io/HTTPRoute"}],
		[{"targets": targets, "effectiveTarget": "Listener"}, {"gateway.networking.k8s.io/Gateway"}],
		[{"targets": targets, "effectiveTarget": "Backend"}, null],
		[{}, null],
	] {
		[spec, wanted] := row
		object.get(kinds.normal_form("acme.io/RatePolicy", object.union(_least, spec)), "actsOn", null) == wanted
	}
}

# F7, GEP-713 "Selecting a merge strategy at runtime"
test_the_assumed_strategy_is_the_first_of_gep_713s_order_that_the_kind_supports if {
	every row in [
		[{"strategies": {"merge": "Patch"}}, "PatchDefaults"],
		[{"strategies": {"atomic": "Atomic", "merge": "Patch"}}, "AtomicDefaults"],
		[{"strategies": {"over": "PatchOverrides", "top": "AtomicOverrides"}}, "AtomicOverrides"],
		[{"specPaths": [{"path": "/spec", "strategy": "PatchOverrides"}]}, "PatchOverrides"],
		[{"custom": "rates"}, "Custom"],
		[{"custom": "rates", "strategies": {"merge": "Patch"}}, "PatchDefaults"],
		[{"strategies": {"merge": "Patch"}, "defaultStrategy": "PatchOverrides"}, "PatchOverrides"],
		[{}, "AtomicDefaults"],
	] {
		[spec, wanted] := row
		kinds.normal_form("acme.io/RatePolicy", object.union(_least, spec)).defaultStrategy == wanted
	}
}
