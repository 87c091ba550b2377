package bridge.status_test

import data.bridge.status
import data.bridge.testing

_message(tallies) := _outcome({}, tallies).message

# S1
test_scopes_that_have_their_explanation_in_common_make_one_sentence if {
	messages := [_message(tallies) | some tallies in _sample_outcomes]
	everywhere := "Programmed on 2 scopes: a; b"
	nowhere := "Overridden on 1 scope by shop/x (Atomic overrides): c"
	partly := "Partially overridden on 5 scopes by shop/x (Patch defaults): d; e; f and 2 more"
	failed := "Not computed on 1 scope (513 policies meet here): g"
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
	_message([_everywhere, other]) == "Programmed on 5 scopes: a; b; c and 2 more"
}

# S1
test_a_message_gives_eight_explanations_and_counts_the_rest if {
	tallies := [_tally("Overridden", [sprintf("shop/p%02d (None)", [n])], 1, ["a"]) | some n in numbers.range(1, 10)]
	sentences := [sprintf("Overridden on 1 scope by shop/p%02d (None): a", [n]) | some n in numbers.range(1, 8)]
	_message(tallies) == concat(". ", array.concat(sentences, ["And 2 more explanations"]))
}

# S1
test_a_sentence_names_five_policies_and_counts_the_rest if {
	by := ["a", "b", "c", "d", "e", "f", "g"]
	_message([_tally("Overridden", by, 1, ["s"])]) == "Overridden on 1 scope by a, b, c, d, e and 2 more: s"
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
			"Of its targets HTTPRoute shop/cart is PartiallyProgrammed",
			"HTTPRoute shop/cart#pay is Overridden",
			"HTTPRoute shop/idle is without scope",
		]),
		"Programmed on 2 scopes: a; b",
		"Overridden on 1 scope by shop/x (Atomic overrides): c",
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
test_what_does_not_fit_into_a_message_is_counted if {
	sentence := _long(10000)
	message := status.join_sentences([sentence | some _ in numbers.range(1, 5)], 8)
	message == concat(". ", [sentence, sentence, sentence, "And 2 more explanations"])
	count(status.join_sentences([_long(40000), "short"], 8)) == 32768
}
