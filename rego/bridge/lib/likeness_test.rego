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
