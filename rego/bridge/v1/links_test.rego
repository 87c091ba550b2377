package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_links_are_told_by_object_where_there_are_any if {
	found := v1.links with input as {"objects": [_warm, testing.resource("v1", "Namespace", "", "shop")]}
	found == {_warm_key: {
		{"path": ["attached", _color, testing.cart_route], "value": true},
		{"path": ["targeted", testing.cart_route], "value": true},
	}}
}

test_links_without_objects_are_an_error if {
	found := v1.links with input as {}
	found.error == _invalid("objects must be a list of objects with apiVersion, kind and metadata.name")
}
