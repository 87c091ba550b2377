package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_virtual_kind := testing.policykind(object.union(
	testing.color_kind,
	{"kind": "FarPolicy", "targets": [{"group": "example.com", "kind": "Far", "virtual": true}]},
))

test_an_object_exists_where_it_is_held if {
	hierarchy.exists(testing.cart_route) with input as testing.changed([])
	not hierarchy.exists("core/Service/shop/gone") with input as testing.changed([])
}

test_of_a_virtual_type_any_name_exists if {
	hierarchy.exists("example.com/Far/shop/any") with input as testing.changed([_virtual_kind])
	not hierarchy.exists("example.com/Near/shop/any") with input as testing.changed([_virtual_kind])
}
