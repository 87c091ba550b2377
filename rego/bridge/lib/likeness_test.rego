package bridge.lib.likeness_test

import data.bridge.lib.likeness

test_a_misspelled_word_has_a_near_match if {
	levels := ["GatewayClass", "Gateway", "Listener", "Route", "Rule"]
	likeness.nearest("Rules", levels) == "Rule"
	likeness.nearest("gateway", levels) == "Gateway"
	likeness.nearest("Listner", levels) == "Listener"
	likeness.hint("Rules", levels) == `; did you mean "Rule"?`
}

test_a_word_that_is_like_none_has_no_near_match if {
	not likeness.nearest("Nope", ["Gateway", "Rule"])
	likeness.hint("Nope", ["Gateway"]) == ""
	likeness.hint("", ["Gateway"]) == ""
}

# K6
test_a_misspelled_type_has_a_near_match if {
	types := {"acme.io/RatePolicy", "other.io/Policy"}
	every type in [
		"acme.io/RatePolcy",
		"acme.io/RatePolciy",
		"acme.io/RatesPolicy",
		"acme.com/RatePolicy",
		"acme.io/RatePolic",
	] {
		likeness.nearest_type(type, types) == "acme.io/RatePolicy"
	}
	not likeness.nearest_type("acme.io/ColorPolicy", {"acme.io/RatePolicy"})
}

test_a_kind_of_several_groups_is_that_of_the_group_most_like if {
	likeness.nearest_type("acme.com/RatePolicy", {"other.io/RatePolicy", "acme.io/RatePolicy", "b.io/RatePolicy"}) == "acme.io/RatePolicy"
	likeness.nearest_type("acme.com/RatePolcy", {"acme.com/RatePolicy", "acme.io/RatePolcy"}) == "acme.com/RatePolicy"
}

test_a_kind_of_another_vendor_is_no_misspelling if {
	types := {"security.istio.io/AuthorizationPolicy", "gateway.envoyproxy.io/BackendTrafficPolicy"}
	not likeness.nearest_type("policy.linkerd.io/AuthorizationPolicy", types)
	not likeness.nearest_type("apisix.apache.org/BackendTrafficPolicy", types)
	likeness.nearest_type("gateway.envoyprox.io/BackendTrafficPolicy", types) == "gateway.envoyproxy.io/BackendTrafficPolicy"
}
