package bridge.v1_test

import data.bridge.v1

_change := {"keys": [_slow_key], "was": {}}

test_a_change_has_the_parts_that_are_wanted if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {"scopes": {}, "objects": {}, "guarded": {}}}))
	found.scopes == {"example.com/TimeoutPolicy": _services}
	found.objects == [_slow_key]
	"core/Service/shop/cart" in found.guarded
	not found.picture
}

test_a_change_has_no_part_that_nothing_wants if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {}}))
	found == {}
}

test_a_change_of_no_key_is_invalid if {
	v1.outdated.error.code == "InvalidInput" with input as {"keys": ["x"], "wanted": {"scopes": {}}}
}

test_a_policy_concerns_the_picture_of_its_target if {
	found := v1.outdated with input as _query_input([_slow], object.union(_change, {"wanted": {"picture": {"drawn": [_slow_key]}}}))
	"core/Service/shop/cart" in found.picture
}
