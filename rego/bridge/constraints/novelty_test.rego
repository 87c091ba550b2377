package bridge.constraints_test

import data.bridge.constraints

_violation(object_name, message, details) := {
	"constraint": "timeouts",
	"object": concat("/", ["gateway.networking.k8s.io/HTTPRoute/shop", object_name]),
	"enforcementAction": "deny",
	"message": message,
	"details": details,
}

_at(section, extent) := {"field": "/timeout", "identity": {"sections": section, "extent": extent}}

_late(extent) := _violation("cart", sprintf("%v", [extent]), _at(["#pay"], extent))

test_the_same_violation_is_not_introduced if {
	constraints.introduced_in([_late(30)], [_late(30)]) == set()
}

test_a_worse_value_is_introduced_and_a_better_one_is_not if {
	constraints.introduced_in([_late(30)], [_late(31)]) == {_late(31)}
	constraints.introduced_in([_late(30)], [_late(29)]) == set()
	constraints.introduced_in([_late(30), _late(40)], [_late(35)]) == set()
}

test_another_object_target_or_field_is_another_violation if {
	others := [
		_violation("other", "30", _at(["#pay"], 30)),
		_violation("cart", "30", _at(["#browse"], 30)),
		_violation("cart", "30", {"field": "/retries", "identity": {"sections": ["#pay"], "extent": 30}}),
	]
	every other in others {
		constraints.introduced_in([_late(30)], [other]) == {other}
	}
}

test_a_renamed_rule_with_the_same_matches_has_the_same_violation if {
	before := _violation("cart", "x", _at(["#pay", "/pay"], 30))
	after := _violation("cart", "y", _at(["#checkout", "/pay"], 30))
	constraints.introduced_in([before], [after]) == set()
}

_named(names) := _violation("cart", "m", _at(["#pay"], names))

test_more_names_are_worse_and_names_below_a_wildcard_are_not if {
	constraints.introduced_in([_named(["a.org"])], [_named(["a.org", "b.org"])]) == {_named(["a.org", "b.org"])}
	constraints.introduced_in([_named(["a.org"]), _named(["b.org"])], [_named(["a.org", "b.org"])]) == set()
	constraints.introduced_in([_named(["*.org"])], [_named(["a.org"])]) == set()
	constraints.introduced_in([_named(["*"])], [_named(["a.org"])]) == set()
	constraints.introduced_in([_named(["a.org"])], [_named(["*"])]) == {_named(["*"])}
}

_path(type, value) := json.marshal({"path": {"type": type, "value": value}})

_matched(match) := _violation("cart", "m", _at(["#pay", match], ["a.org"]))

test_a_rule_that_takes_more_requests_is_worse_and_one_that_takes_fewer_is_not if {
	any := `"any"`
	health := _path("PathPrefix", "/healthz")
	wider := [any, _path("PathPrefix", "/"), _path("PathPrefix", "/health"), _path("PathPrefix", "/healthzz"), _path("RegularExpression", "/healthz.*")]
	every match in wider {
		constraints.introduced_in([_matched(health)], [_matched(match)]) == {_matched(match)}
	}
	by_post := json.marshal({"path": {"type": "PathPrefix", "value": "/healthz/"}, "method": "POST"})
	every match in [health, _path("PathPrefix", "/healthz/a"), _path("Exact", "/healthz"), by_post] {
		constraints.introduced_in([_matched(health)], [_matched(match)]) == set()
		constraints.introduced_in([_matched(any)], [_matched(match)]) == set()
	}
	exact := _path("Exact", "/healthz")
	posted := json.marshal({"path": {"type": "Exact", "value": "/healthz"}, "method": "POST"})
	constraints.introduced_in([_matched(exact)], [_matched(posted)]) == set()
	constraints.introduced_in([_matched(posted)], [_matched(exact)]) == {_matched(exact)}
	pattern := _matched(_path("RegularExpression", "/a|/b"))
	constraints.introduced_in([_matched(_path("PathPrefix", "/a"))], [pattern]) == {pattern}
	constraints.introduced_in([pattern], [pattern]) == set()
}

test_a_rule_takes_more_requests_whatever_the_extent_of_its_violation_is if {
	match := _matches
	every after in [["#pay", match.pay, match.all], ["#pay", match.all], [match.pay, match.all]] {
		constraints.introduced_in([_violation("cart", "x", _at(["#pay", match.pay], 30))], [_violation("cart", "x", _at(after, 30))]) != set()
	}
	others := [_violation("cart", "x", _at(["#pay", match.pay], 30)), _violation("cart", "x", _at(["#all", match.all], 30))]
	constraints.introduced_in(others, [_violation("cart", "x", _at(["#pay", match.all, match.pay], 30))]) == set()
	listener := _violation("cart", "x", _at(["#web", `[80,""]`], 30))
	constraints.introduced_in([listener], [_violation("cart", "x", _at(["#web", `[81,""]`], 30))]) == set()
}

_matches := {"pay": _path("Exact", "/pay"), "all": _path("PathPrefix", "/")}

test_each_bound_of_a_value_counts_alone if {
	above := _violation("cart", "m", _at(["#pay"], {"maximum": 20}))
	below := _violation("cart", "m", _at(["#pay"], {"minimum": 1}))
	constraints.introduced_in([above], [below]) == {below}
	constraints.introduced_in([above], [_violation("cart", "n", _at(["#pay"], {"maximum": 19}))]) == set()
	other := _violation("cart", "n", _at(["#pay"], {"allowed": `"off"`}))
	constraints.introduced_in([_violation("cart", "n", _at(["#pay"], {"allowed": `"lax"`}))], [other]) == {other}
}

test_extents_of_different_types_are_different_violations if {
	constraints.introduced_in([_late(30)], [_late("what is in effect is unknown")]) == {_late("what is in effect is unknown")}
}

test_without_an_identity_the_message_tells_violations_apart if {
	first := _violation("cart", "container a has no limit", {})
	second := _violation("cart", "container b has no limit", {})
	constraints.introduced_in([first], [first, second]) == {second}
}

test_a_violation_that_is_no_longer_exempt_is_introduced if {
	exempt := object.union(_late(30), {"enforcementAction": "exempt"})
	constraints.introduced_in([exempt], [_late(30)]) == {_late(30)}
	constraints.introduced_in([exempt], [exempt]) == set()
	constraints.introduced_in([_late(30)], [exempt]) == set()
}

test_two_states_differ_in_introduced_fixed_and_unchanged_violations if {
	fixed := _violation("old", "x", {})
	found := constraints.compared([fixed, _late(30)], [_late(29), _violation("new", "x", {})])
	found == {"introduced": {_violation("new", "x", {})}, "fixed": {fixed}, "unchanged": {_late(29)}}
}

test_a_violation_that_gets_worse_is_not_fixed if {
	constraints.compared([_late(30)], [_late(31)]) == {"introduced": {_late(31)}, "fixed": set(), "unchanged": set()}
}
