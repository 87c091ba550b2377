package bridge.lib.quantities_test

import data.bridge.lib.quantities

_ordered(low, high, described) if {
	quantities.is_at_most(low, high, described)
	quantities.is_at_least(high, low, described)
	not quantities.is_at_most(high, low, described)
	not quantities.is_at_least(low, high, described)
}

test_values_of_one_type_are_compared_by_their_size if {
	every pair in [
		[1, 1.5],
		["90s", "1h30m"],
		["500us", "1ms"],
		["999Ki", "1Mi"],
		["900u", "1k"],
		["2k", "1e4"],
		["5m", "10m"], # minutes, or thousandths
	] {
		_ordered(pair[0], pair[1], {})
	}
	quantities.is_at_most("60m", "1h", {})
	quantities.is_at_least("60m", "1h", {})
}

test_values_of_different_types_are_not_compared if {
	every pair in [[60, "90s"], ["30s", "1Gi"], [1, "1k"], ["much", "1h"], ["1h", "much"], [true, 2], [{}, 2], [[], "2"], [null, 1]] {
		not quantities.is_at_most(pair[0], pair[1], {})
		not quantities.is_at_least(pair[0], pair[1], {})
		quantities.remark(pair[0], pair[1], {}) == ", and they are not of one type"
	}
}

# Five minutes are less than 400 s, and not less than 2k.
test_a_text_of_several_types_has_that_of_the_unit_of_the_bound if {
	quantities.is_at_most("5m", "400s", {})
	not quantities.is_at_most("500m", "400s", {})
	quantities.is_at_most("500m", "2k", {})
	quantities.remark("500m", "400s", {}) == ""
}

# 600m is ten hours or 0.6.
test_a_text_of_several_types_is_not_within_a_bound_without_a_unit if {
	every pair in [["600m", "10"], ["5m", "400"], ["5m", "0.001"], ["0", "1"]] {
		not quantities.is_at_most(pair[0], pair[1], {})
		not quantities.is_at_least(pair[0], pair[1], {})
	}
	quantities.remark("600m", "10", {}) == ", which may be a duration or a quantity, and 10 has no unit"
	not quantities.distance("600m", "10", {})
	quantities.is_at_least("10", "600m", {})
	not quantities.is_at_most("10", "600m", {})
}

test_a_text_of_several_types_is_judged_where_the_kind_describes_the_field if {
	quantities.is_at_most("600m", "10", {"type": "Quantity"})
	not quantities.is_at_most("600m", "1h", {"type": "Duration"})
	quantities.is_at_most("5m", "400s", {"type": "Duration"})
	not quantities.is_at_most("600m", "10", {"type": "Duration"})
}

test_a_described_field_has_one_type if {
	size := {"type": "NginxSize"}
	every pair in [["10m", "1g"], ["1023", "1k"], ["1K", "1M"], ["0", "1"]] {
		_ordered(pair[0], pair[1], size)
	}
	time_of_nginx := {"type": "NginxTime"}
	every pair in [["59", "1m"], ["999ms", "1s"], ["1h 30m", "2h"], ["6d", "1w"], ["1M", "1y"], ["1m30", "2m"]] {
		_ordered(pair[0], pair[1], time_of_nginx)
	}
	every pair in [["10m", "1Gi"], ["1.5m", "2m"], ["10s", "1m"]] {
		not quantities.is_at_most(pair[0], pair[1], size)
	}
	_ordered("5m", "1", {"type": "Quantity"})
	_ordered(1024, "1Mi", {"type": "Quantity"})
	not quantities.is_at_most("5m", "1h", {"type": "Quantity"})
	_ordered(3, 5, {"type": "Number"})
	not quantities.is_at_most("3", "5", {"type": "Number"})
}

test_a_duration_of_zero_is_no_limit if {
	every zero in ["0s", "0ms", "0h0m", "0", "-1s"] {
		not quantities.is_at_most(zero, "1h", {})
		not quantities.is_at_most(zero, "1h", {"type": "Duration"})
		not quantities.is_at_least(zero, "1s", {})
		not quantities.is_at_least(zero, "1s", {"type": "Duration"})
	}
	quantities.remark("0s", "1h", {}) == ", which is no limit"
	quantities.is_at_least("0s", "1s", {"type": "Duration", "zero": "Unlimited"})
	not quantities.is_at_least("0s", 1, {"type": "Duration", "zero": "Unlimited"})
	quantities.is_at_most("0s", "1s", {"type": "Duration", "zero": "Zero"})
}

test_another_zero_is_no_limit_where_the_kind_describes_it_so if {
	quantities.is_at_most("0", "1m", {"type": "NginxSize"})
	not quantities.is_at_most("0", "1m", {"type": "NginxSize", "zero": "Unlimited"})
	quantities.is_at_most(0, 5, {})
	not quantities.is_at_most(0, 5, {"type": "Number", "zero": "Unlimited"})
	quantities.is_at_most("5", 5, {"type": "Quantity"})
	quantities.remark(3, 2, {}) == ""
}

test_a_value_that_is_no_limit_is_farther_from_a_bound_than_any_other if {
	quantities.distance("0s", "30s", {}) > quantities.distance("9000h", "30s", {})
	quantities.distance(0, 10, {"type": "Number", "zero": "Unlimited"}) > quantities.distance(9e15, 10, {"type": "Number", "zero": "Unlimited"})
	not quantities.distance("0s", "much", {})
}
