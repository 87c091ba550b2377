package bridge.attachment_test

import data.bridge.testing

_cart_ref := testing.service_ref("cart")

_older := testing.timeout("older", 1, [_cart_ref], {"request": "1s"})

_younger(refs) := testing.timeout("younger", 2, refs, {"request": "2s"})

# F5, GEP-713 "Merge strategy: None"
test_one_target_belongs_to_the_oldest if {
	_verdicts(_older, [_younger([_cart_ref])]) == [_accepted]
	_verdicts(_younger([_cart_ref]), [_older]) == [[
		"Conflicted",
		"Service shop/cart belongs to the older TimeoutPolicy shop/older",
	]]
}

# F5
test_of_two_of_one_age_the_first_by_name_has_the_target if {
	_verdicts(testing.timeout("zzz", 1, [_cart_ref], {"request": "2s"}), [_older]) == [[
		"Conflicted",
		"Service shop/cart belongs to the older TimeoutPolicy shop/older",
	]]
}

# C2
test_a_section_and_its_object_are_two_targets if {
	section := object.union(_cart_ref, {"sectionName": "http"})
	_verdicts(_younger([section]), [_older]) == [_accepted]
}

# K2
test_a_port_by_its_number_holds_nothing if {
	by_number := testing.timeout("older", 1, [object.union(_cart_ref, {"sectionName": "80"})], {"request": "1s"})
	_verdicts(_younger([object.union(_cart_ref, {"sectionName": "http"})]), [by_number]) == [_accepted]
}

# T5
test_a_policy_that_is_being_deleted_holds_no_target if {
	leaving := object.union(_older, {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	_verdicts(_younger([_cart_ref]), [leaving]) == [_accepted]
}

# F5
test_an_invalid_policy_holds_no_target if {
	invalid := testing.timeout("older", 1, [object.union(_cart_ref, {"sectionName": "gone"}), testing.ref("HTTPRoute", "cart")], {})
	_verdicts(_younger([_cart_ref]), [invalid]) == [_accepted]
}

# F5
test_the_loser_of_one_target_keeps_its_others if {
	other := testing.service("catalog", [])
	_verdicts(_younger([_cart_ref, testing.service_ref("catalog")]), [_older, other]) == [
		["Conflicted", "Service shop/cart belongs to the older TimeoutPolicy shop/older"],
		_accepted,
	]
}

_hops(namespace, name, minute) := testing.created(
	testing.with_spec(
		testing.resource("example.com/v1", "HopPolicy", namespace, name),
		{"targetRefs": [object.union(_cart_ref, {"namespace": "shop"})], "hops": minute},
	),
	minute,
)

# F5, P6
test_policies_that_count_for_other_requests_do_not_contend if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "HopPolicy",
		"class": "Direct",
		"crossNamespace": "Consumer",
		"targets": [{"group": "", "kind": "Service"}],
	})
	for_all := [kind, _hops("", "everywhere", 1), _hops("team", "theirs", 2)]
	_verdicts(_hops("shop", "own", 3), for_all) == [[
		"Conflicted",
		"Service shop/cart belongs to the older HopPolicy everywhere",
	]]
	_verdicts(_hops("other", "for-their-requests", 3), for_all) == [_accepted]
	_verdicts(_hops("team", "again", 3), for_all) == [[
		"Conflicted",
		"Service shop/cart belongs to the older HopPolicy team/theirs",
	]]
}

# F5: only kinds for consumers distinguish the requests of one namespace (P6).
test_a_granted_policy_of_another_namespace_conflicts_with_the_targets_own if {
	granted := [
		testing.policykind(object.union(testing.timeout_kind, {"kind": "FarPolicy", "crossNamespace": "ReferenceGrant"})),
		testing.grant("shop", "example.com", "FarPolicy", "infra", "", "Service"),
	]
	own := object.union(_older, {"kind": "FarPolicy"})
	far_ref := object.union(_cart_ref, {"namespace": "shop"})
	far := object.union(_younger([far_ref]), {"kind": "FarPolicy", "metadata": {"namespace": "infra"}})
	_verdicts(far, granted) == [_accepted]
	_verdicts(far, array.concat(granted, [own])) == [[
		"Conflicted",
		"Service shop/cart belongs to the older FarPolicy shop/older",
	]]
}
