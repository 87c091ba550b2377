package bridge.hierarchy_test

import data.bridge.hierarchy

test_a_route_without_hostnames_meets_every_listener if {
	hierarchy.hostnames_meet([], "")
	hierarchy.hostnames_meet([], "shop.example.com")
}

test_a_listener_without_hostname_meets_every_route if {
	hierarchy.hostnames_meet(["shop.example.com"], "")
}

test_one_hostname_in_common_is_enough if {
	hierarchy.hostnames_meet(["a.example.com", "b.example.com"], "b.example.com")
	not hierarchy.hostnames_meet(["a.example.com", "b.example.com"], "c.example.com")
}

# Gateway API, Hostname.
test_hostnames_intersect_by_whole_labels_on_the_left if {
	every row in [
		["shop.example.com", "shop.example.com", true],
		["*.example.com", "shop.example.com", true],
		["shop.example.com", "*.example.com", true],
		["*.example.com", "a.b.example.com", true],
		["*.example.com", "*.shop.example.com", true],
		["*.example.com", "example.com", false],
		["*.example.com", "notexample.com", false],
		["shop.example.com", "example.com", false],
		["*.a.example.com", "*.b.example.com", false],
	] {
		[left, right, wanted] := row
		_meet(left, right) == wanted
	}
}

_meet(left, right) if {
	hierarchy.hostnames_intersect(left, right)
} else := false
