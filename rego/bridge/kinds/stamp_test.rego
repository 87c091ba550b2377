package bridge.kinds_test

import data.bridge.kinds

_stamp(fields) := found if {
	found := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, fields)]}}
}

test_stamp_differs_where_the_description_differs if {
	_stamp({}) != _stamp({"conditions": "Enforced"})
	_stamp({}) == _stamp({})
}

test_stamp_differs_where_an_extension_adds_levels if {
	with_levels := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, {})]}}
		with data.bridge.extensions.hierarchy as {"mesh": {"levels": {"acme.io/Mesh": {"object": "Gateway"}}}}
	with_levels != _stamp({})
}

test_stamp_differs_where_the_bounds_differ if {
	with_bounds := kinds.stamp(_type) with input as {"changes": {"upsert": [_rate_kind("rates", 1, {})]}} with data.bridge_settings.bounds as {"leaves": 3}
	with_bounds != _stamp({})
}
