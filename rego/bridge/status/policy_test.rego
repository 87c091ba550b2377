package bridge.status_test

import data.bridge.status
import data.bridge.testing

_of_policy(policy, key, tallies) := found if {
	found := status.of_policy(key, tallies) with input as testing.changed([policy])
}

_policy := testing.color("shop", "warm", 1, [_cart_ref], {"theme": "dark"})

_programmed_condition := {
	"type": "Programmed",
	"status": "True",
	"reason": "Programmed",
	"message": "Programmed on 2 scopes: a; b",
}

_accepted_condition := _condition("True", "Accepted", "Policy has been accepted")

test_a_policy_shows_accepted_and_programmed if {
	_of_policy(_policy, _warm, [_everywhere]) == {
		"policy": _warm,
		"policyKind": "example.com/ColorPolicy",
		"mode": "Manage",
		"controllerName": "example.com/color-controller",
		"conditions": [_accepted_condition, _programmed_condition],
		"types": sort(status.policy_types),
	}
}

# S1
test_what_is_not_accepted_shows_no_programmed if {
	refused := testing.color("shop", "warm", 1, [_gone], {})
	_of_policy(refused, _warm, []).conditions == [_condition("False", "TargetNotFound", "Target HTTPRoute shop/gone is not found")]
}

test_conditions_have_the_generation_that_they_were_computed_from if {
	policy := object.union(_policy, {"metadata": {"generation": 7}})
	generation := {"observedGeneration": 7}
	_of_policy(policy, _warm, [_everywhere]).conditions == [
		object.union(_accepted_condition, generation),
		object.union(_programmed_condition, generation),
	]
}

test_a_kind_in_mode_observe_needs_no_controller_name if {
	kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule"})
	policy := object.union(_policy, {"kind": "ZonePolicy"})
	key := "example.com/ZonePolicy/shop/warm"
	found := status.of_policy(key, [_everywhere]) with input as testing.changed([kind, policy])
	found == {
		"policy": key,
		"policyKind": "example.com/ZonePolicy",
		"mode": "Observe",
		"conditions": [_accepted_condition, _programmed_condition],
		"types": sort(status.policy_types),
	}
}

_slow := "example.com/TimeoutPolicy/shop/slow"

_timeout(refs) := testing.timeout("slow", 1, refs, {"request": "1s"})

_service_ancestor(name, section) := object.union(
	{"group": "", "kind": "Service", "name": name, "namespace": "shop"},
	{"sectionName": section | section != ""},
)

_ancestor(reference, conditions) := {
	"ancestorRef": reference,
	"controllerName": "example.com/timeout-controller",
	"conditions": conditions,
}

_at(ancestor, tally) := object.union(tally, {"ancestor": ancestor, "targets": [ancestor]})

# S3
test_a_status_by_ancestor_has_an_entry_for_each_ancestor_and_each_ref_that_is_refused if {
	refs := [testing.service_ref("gone"), testing.service_ref("cart"), testing.service_ref("gone")]
	tallies := [_at("core/Service/shop/cart", _everywhere), _at("core/Service/shop/cart#http", _nowhere)]
	accepted := _condition("True", "Accepted", concat("", [
		"Policy has been accepted, but not for 2 of its targets: ",
		"Target Service shop/gone is not found; Target Service shop/gone is not found",
	]))
	overridden := {
		"type": "Programmed",
		"status": "False",
		"reason": "Overridden",
		"message": "Overridden on 1 scope by shop/x (Atomic overrides): c",
	}
	_of_policy(_timeout(refs), _slow, tallies) == {
		"policy": _slow,
		"policyKind": "example.com/TimeoutPolicy",
		"mode": "Manage",
		"controllerName": "example.com/timeout-controller",
		"ancestors": [
			_ancestor(_service_ancestor("cart", ""), [accepted, _programmed_condition]),
			_ancestor(_service_ancestor("cart", "http"), [accepted, overridden]),
			_ancestor(_service_ancestor("gone", ""), [_condition("False", "TargetNotFound", "Target Service shop/gone is not found")]),
		],
		"unreported": [],
	}
}

# S3, O4
test_a_ref_that_reaches_nothing_has_an_entry_of_its_own if {
	_of_policy(_timeout([testing.service_ref("cart")]), _slow, []).ancestors == [_ancestor(_service_ancestor("cart", ""), [_accepted_condition, {
		"type": "Programmed",
		"status": "False",
		"reason": "NoScope",
		"message": "Policy has no effective target: none of its targets is in effect",
	}])]
}

# S3
test_entries_of_other_controllers_count_toward_sixteen if {
	refs := [testing.service_ref(sprintf("gone%02d", [n])) | some n in numbers.range(1, 10)]
	others := [{"controllerName": "acme.io/other"} | some _ in numbers.range(1, 14)]
	own := [{"controllerName": "example.com/timeout-controller"}]
	shown := [[entry.ancestorRef.name | some entry in found.ancestors] |
		some entries in [array.concat(others, own), array.concat(others, array.concat(others, own)), []]
		found := _of_policy(object.union(_timeout(refs), {"status": {"ancestors": entries}}), _slow, [])
	]
	all := [sprintf("gone%02d", [n]) | some n in numbers.range(1, 10)]
	shown == [["gone01", "gone02"], [], all]
}

# S3, O4
test_an_accepted_ref_that_reaches_nothing_has_an_entry_beside_those_that_do if {
	refs := [testing.service_ref("cart"), testing.service_ref("idle")]
	tallies := [_at("core/Service/shop/cart", _everywhere)]
	ancestors := status.of_policy(_slow, tallies).ancestors with input as testing.changed([_timeout(refs), testing.service("idle", [])])
	reasons := [[entry.ancestorRef.name, entry.conditions[1].reason] | some entry in ancestors]
	reasons == [["cart", "Programmed"], ["idle", "NoScope"]]
}

# S1, S3
test_an_ancestor_lists_the_targets_that_have_a_path_through_it if {
	refs := [service | some name in ["cart", "one", "two"]; service := testing.service_ref(name)]
	services := [testing.service(name, []) | some name in ["one", "two"]]
	tallies := [object.union(_everywhere, {"ancestor": ancestor, "targets": targets}) |
		some ancestor, targets in {
			"core/Service/shop/a": ["core/Service/shop/one"],
			"core/Service/shop/b": ["core/Service/shop/one", "core/Service/shop/two"],
		}
	]
	found := status.of_policy(_slow, tallies).ancestors with input as testing.changed(array.concat([_timeout(refs)], services))
	messages := {entry.ancestorRef.name: entry.conditions[1].message | some entry in found}
	messages.a == "Programmed on 2 scopes: a; b"
	messages.b == "Of its targets Service shop/one is Programmed, Service shop/two is Programmed. Programmed on 2 scopes: a; b"
	startswith(messages.cart, "Policy has no effective target")
}

# S3
test_a_ref_whose_paths_lead_to_no_ancestor_is_counted_over_them if {
	tally := object.union(_nowhere, {"ancestor": "", "targets": ["core/Service/shop/cart"]})
	ancestors := _of_policy(_timeout([testing.service_ref("cart")]), _slow, [tally]).ancestors
	[[entry.ancestorRef.name, entry.conditions[1].reason] | some entry in ancestors] == [["cart", "Overridden"]]
}

# S3
test_the_last_entry_counts_the_ancestors_without_an_entry if {
	tallies := [_at(sprintf("core/Service/shop/s%02d", [n]), _everywhere) | some n in numbers.range(1, 18)]
	found := _of_policy(_timeout([testing.service_ref("cart")]), _slow, tallies)
	count(found.ancestors) == 16
	found.unreported == [["core/Service/shop/cart", ""], ["core/Service/shop/s17", ""], ["core/Service/shop/s18", ""]]
	messages := [entry.conditions[0].message | some entry in found.ancestors]
	messages[14] == "Policy has been accepted"
	messages[15] == "3 more ancestors are not shown, for a status has room for 16. Policy has been accepted"
}

# S3
test_a_refused_ref_to_an_ancestor_that_is_reached_has_no_second_entry if {
	refs := [testing.service_ref("gone"), testing.service_ref("cart")]
	found := _of_policy(_timeout(refs), _slow, [object.union(_everywhere, {"ancestor": "core/Service/shop/gone", "targets": ["core/Service/shop/cart"]})])
	[entry.ancestorRef.name | some entry in found.ancestors] == ["gone"]
}
