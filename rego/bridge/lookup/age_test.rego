package bridge.lookup_test

import data.bridge.lookup
import data.bridge.testing

_aged(timestamp) := object.union(
	testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"),
	{"metadata": {"creationTimestamp": timestamp}},
)

# F1
test_age_is_the_time_of_creation if {
	age := lookup.age("example.com/ColorPolicy/shop/warm") with input as testing.changed([_aged("1970-01-01T00:00:02Z")])
	age == 2000000000
}

# F1
test_what_has_no_time_of_creation_is_the_youngest if {
	every policy in [_aged(null), _aged(""), _aged(3), testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")] {
		age := lookup.age("example.com/ColorPolicy/shop/warm") with input as testing.changed([policy])
		age == 9223372036854775807
	}
}
