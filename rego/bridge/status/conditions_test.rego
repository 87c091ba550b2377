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
	"message": "Programmed on 2 paths: a; b",
}

_accepted_condition := _condition("True", "Accepted", "Policy has been accepted")

test_a_policy_shows_accepted_and_programmed if {
	_of_policy(_policy, _warm, [_everywhere]) == {
		"policy": _warm,
		"policyKind": "example.com/ColorPolicy",
		"mode": "Manage",
		"controllerName": "example.com/color-controller",
		"outcome": "Programmed",
		"conditions": [_accepted_condition, _programmed_condition],
		"types": sort(status.policy_types),
	}
}

# O4
test_the_outcome_is_one_word_for_all_paths if {
	outcomes := {name: _of_policy(_policy, _warm, tallies).outcome |
		some name, tallies in {
			"none": [],
			"same": [_everywhere],
			"some": [_everywhere, _nowhere],
			"uncertain": [object.union(_everywhere, {"incomplete": ["why"]})],
		}
	}
	outcomes == {"none": "NoScope", "same": "Programmed", "some": "PartiallyProgrammed", "uncertain": "Incomplete"}
}

# S1
test_unaccepted_policies_show_no_programmed if {
	refused := testing.color("shop", "warm", 1, [_gone], {})
	not _of_policy(refused, _warm, []).outcome
	_of_policy(refused, _warm, []).conditions == [_condition("False", "TargetNotFound", "Target HTTPRoute/shop/gone is not found")]
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
		"outcome": "Programmed",
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
		"Target Service/shop/gone is not found; Target Service/shop/gone is not found",
	]))
	overridden := {
		"type": "Programmed",
		"status": "False",
		"reason": "Overridden",
		"message": "Overridden on 1 path by shop/x (Atomic overrides): c",
	}
	_of_policy(_timeout(refs), _slow, tallies) == {
		"policy": _slow,
		"policyKind": "example.com/TimeoutPolicy",
		"mode": "Manage",
		"controllerName": "example.com/timeout-controller",
		"outcome": "PartiallyProgrammed",
		"ancestors": [
			_ancestor(_service_ancestor("cart", ""), [accepted, _programmed_condition]),
			_ancestor(_service_ancestor("cart", "http"), [accepted, overridden]),
			_ancestor(_service_ancestor("gone", ""), [_condition("False", "TargetNotFound", "Target Service/shop/gone is not found")]),
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
	messages.a == "Programmed on 2 paths: a; b"
	messages.b == "By target: Service/shop/one is Programmed, Service/shop/two is Programmed. Programmed on 2 paths: a; b"
	startswith(messages.cart, "Policy has no effective target")
}

# S3
test_a_ref_with_paths_to_no_ancestor_is_counted_over_them if {
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
	messages[15] == "3 more ancestors are not shown, because a status lists at most 16. Policy has been accepted"
}

# S3
test_a_refused_ref_to_an_ancestor_that_is_reached_has_no_second_entry if {
	refs := [testing.service_ref("gone"), testing.service_ref("cart")]
	found := _of_policy(_timeout(refs), _slow, [object.union(_everywhere, {"ancestor": "core/Service/shop/gone", "targets": ["core/Service/shop/cart"]})])
	[entry.ancestorRef.name | some entry in found.ancestors] == ["gone"]
}

_warm := "example.com/ColorPolicy/shop/warm"

_cart_ref := testing.ref("HTTPRoute", "cart")

_gone := testing.ref("HTTPRoute", "gone")

_accepted(refs) := condition if {
	policy := testing.color("shop", "warm", 1, refs, {"theme": "dark"})
	condition := status.accepted_condition(_warm) with input as testing.changed([policy])
}

_condition(state, reason, message) := {"type": "Accepted", "status": state, "reason": reason, "message": message}

test_a_policy_with_accepted_refs_alone_is_accepted if {
	_accepted([_cart_ref]) == _condition("True", "Accepted", "Policy has been accepted")
}

# S1
test_an_accepted_policy_explains_twenty_rejected_refs_and_counts_the_rest if {
	missing := [testing.ref("HTTPRoute", sprintf("gone%02d", [n])) | some n in numbers.range(1, 22)]
	listed := concat("; ", [sprintf("Target HTTPRoute/shop/gone%02d is not found", [n]) | some n in numbers.range(1, 20)])
	_accepted(array.concat([_cart_ref], missing)) == _condition("True", "Accepted", sprintf(
		"Policy has been accepted, but not for 22 of its targets: %s and 2 more",
		[listed],
	))
}

# T4
test_a_policy_with_one_accepted_ref_is_accepted_and_names_the_others if {
	_accepted([_gone, _cart_ref, testing.service_ref("cart")]) == _condition("True", "Accepted", concat("", [
		"Policy has been accepted, but not for 2 of its targets: ",
		"Target HTTPRoute/shop/gone is not found; ColorPolicy cannot target a Service",
	]))
}

# T4
test_a_policy_with_no_accepted_ref_has_the_reason_of_the_first if {
	_accepted([_gone, testing.service_ref("cart")]) == _condition("False", "TargetNotFound", "Target HTTPRoute/shop/gone is not found")
}

test_a_policy_without_refs_is_invalid if {
	_accepted([]) == _condition("False", "Invalid", "Policy names no target: spec.targetRefs is missing or empty")
}

test_a_policy_without_spec_is_invalid if {
	bare := testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")
	condition := status.accepted_condition(_warm) with input as testing.changed([bare])
	condition == _condition("False", "Invalid", "Policy has no spec")
}

_tally(outcome, by, number, examples) := {
	"ancestor": "",
	"targets": [testing.cart_route],
	"outcome": outcome,
	"by": by,
	"count": number,
	"examples": examples,
}

_everywhere := _tally("Programmed", [], 2, ["a", "b"])

_nowhere := _tally("Overridden", ["shop/x (Atomic overrides)"], 1, ["c"])

_partly := _tally("PartiallyProgrammed", ["shop/x (Patch defaults)"], 5, ["d", "e", "f"])

_failed := _tally("Failed", ["513 policies meet here"], 1, ["g"])

_sample_outcomes := [
	[_everywhere],
	[_nowhere],
	[_partly],
	[_everywhere, _nowhere],
	[_nowhere, _partly],
	[_failed],
	[_failed, _nowhere],
	[_failed, _everywhere],
	[],
]

_outcome(fields, tallies) := condition if {
	others := [obj | some obj in testing.world; obj.metadata.name != "colorpolicy"]
	kind := testing.policykind(object.union(testing.color_kind, fields))
	conditions := status.outcome_conditions(_warm, tallies) with input as {"changes": {"upsert": array.concat(others, [kind, _policy])}}
	count(conditions) == 1
	condition := conditions[0]
}

# O4
test_the_outcomes_of_all_paths_make_one_condition if {
	conditions := [[condition.type, condition.status, condition.reason] |
		some tallies in _sample_outcomes
		condition := _outcome({}, tallies)
	]
	conditions == [
		["Programmed", "True", "Programmed"],
		["Programmed", "False", "Overridden"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "False", "Reconciling"],
		["Programmed", "False", "Reconciling"],
		["Programmed", "True", "PartiallyProgrammed"],
		["Programmed", "False", "NoScope"],
	]
}

# S2, GEP-713 of 2025, "Policy status"
test_the_set_of_2025_has_a_condition_type_for_each_outcome if {
	conditions := [[condition.type, condition.status, condition.reason] |
		some tallies in _sample_outcomes
		condition := _outcome({"conditions": "Enforced"}, tallies)
	]
	conditions == [
		["Enforced", "True", "Enforced"],
		["Overridden", "True", "Overridden"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["Enforced", "False", "Reconciling"],
		["Enforced", "False", "Reconciling"],
		["PartiallyEnforced", "True", "PartiallyEnforced"],
		["Enforced", "False", "NoScope"],
	]
	_outcome({"conditions": "Enforced"}, [_everywhere]).message == "Enforced on 2 paths: a; b"
}

# S2
test_the_condition_types_of_both_sets_are_ours if {
	status.policy_types == {"Accepted", "Programmed", "Enforced", "PartiallyEnforced", "Overridden"}
}

_message(tallies) := _outcome({}, tallies).message

# S1
test_scopes_that_have_their_explanation_in_common_make_one_sentence if {
	messages := [_message(tallies) | some tallies in _sample_outcomes]
	everywhere := "Programmed on 2 paths: a; b"
	nowhere := "Overridden on 1 path by shop/x (Atomic overrides): c"
	partly := "Partially overridden on 5 paths by shop/x (Patch defaults): d; e; f and 2 more"
	failed := "Not computed on 1 path (513 policies meet here): g"
	messages == [
		everywhere,
		nowhere,
		partly,
		concat(". ", [everywhere, nowhere]),
		concat(". ", [partly, nowhere]),
		failed,
		concat(". ", [nowhere, failed]),
		concat(". ", [everywhere, failed]),
		"Policy has no effective target: there is no rule at or below its targets",
	]
}

# S1
test_tallies_of_several_ancestors_make_one_sentence if {
	other := object.union(_tally("Programmed", [], 3, ["b", "c", "d"]), {"ancestor": "x"})
	_message([_everywhere, other]) == "Programmed on 5 paths: a; b; c and 2 more"
}

# S1
test_a_message_gives_eight_explanations_and_counts_the_rest if {
	tallies := [_tally("Overridden", [sprintf("shop/p%02d (None)", [n])], 1, ["a"]) | some n in numbers.range(1, 10)]
	sentences := [sprintf("Overridden on 1 path by shop/p%02d (None): a", [n]) | some n in numbers.range(1, 8)]
	_message(tallies) == concat(". ", array.concat(sentences, ["And 2 more explanations"]))
}

# S1
test_a_sentence_names_five_policies_and_counts_the_rest if {
	by := ["a", "b", "c", "d", "e", "f", "g"]
	_message([_tally("Overridden", by, 1, ["s"])]) == "Overridden on 1 path by a, b, c, d, e and 2 more: s"
	_message([_tally("Overridden", [], 1, ["s"])]) == "Overridden on 1 path: s"
}

# S1, O4
test_a_policy_with_several_targets_tells_the_outcome_of_each if {
	refs := [_cart_ref, testing.section_ref("HTTPRoute", "cart", "pay"), testing.ref("HTTPRoute", "idle")]
	policy := testing.color("shop", "warm", 1, refs, {"theme": "dark"})
	idle := testing.route("idle", [], [])
	pay := object.union(_nowhere, {"targets": [testing.cart_route, testing.cart_pay]})
	condition := status.outcome_conditions(_warm, [_everywhere, pay])[0] with input as testing.changed([policy, idle])
	condition.message == concat(". ", [
		concat(", ", [
			"By target: HTTPRoute/shop/cart is PartiallyProgrammed",
			"HTTPRoute/shop/cart#pay is Overridden",
			"HTTPRoute/shop/idle is without effective target",
		]),
		"Programmed on 2 paths: a; b",
		"Overridden on 1 path by shop/x (Atomic overrides): c",
	])
}

_long(letters) := sprintf(sprintf("%%0%dd", [letters]), [0])

# S1
test_a_message_fits_into_a_condition if {
	fitted := status.fit(_long(32769))
	count(fitted) == 32768
	endswith(fitted, "0…")
	status.fit("short") == "short"
}

# S1
test_the_rest_of_a_long_message_is_counted if {
	sentence := _long(10000)
	message := status.join_sentences([sentence | some _ in numbers.range(1, 5)], 8)
	message == concat(". ", [sentence, sentence, sentence, "And 2 more explanations"])
	count(status.join_sentences([_long(40000), "short"], 8)) == 32768
}
