package bridge.v1_test

import data.bridge.v1

_objects := {
	"core": {"Service": {"shop": {"cart": {"spec": {"ports": [{"name": "http", "port": 80}]}}, "catalog": {}}, "blog": {"cart": {}}}},
	"apiextensions.k8s.io": {"CustomResourceDefinition": {"-": {"colorpolicies.example.com": {"spec": {
		"group": "example.com",
		"names": {"kind": "ColorPolicy", "plural": "colorpolicies", "shortNames": ["cp"]},
	}}}}},
}

test_types_have_the_names_of_a_crd if {
	found := v1.types with data.objects as _objects with data.kinds as {"example.com/ColorPolicy": {}} with input as {}
	found["example.com/ColorPolicy"] == {"names": ["colorpolicies", "cp"], "policy": true}
	found["core/Service"] == {"names": [], "policy": false}
}

test_types_know_a_kind_that_a_change_brings if {
	change := {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
	found := v1.types with data.objects as _objects with data.kinds as {} with input as {"changes": {"upsert": [change]}}
	found["example.com/Widget"] == {"names": [], "policy": false}
}

test_names_are_the_keys_of_all_objects_of_the_types if {
	found := v1.names with data.objects as _objects with input as {"types": ["core/Service"]}
	found == ["core/Service/blog/cart", "core/Service/shop/cart", "core/Service/shop/catalog"]
}

test_names_can_be_those_of_one_name if {
	found := v1.names with data.objects as _objects with input as {"types": ["core/Service"], "name": "cart"}
	found == ["core/Service/blog/cart", "core/Service/shop/cart"]
}

test_names_can_have_their_sections if {
	query_input := {"types": ["core/Service"], "name": "cart", "sections": true}
	found := v1.names with data.objects as _objects with input as query_input
	found == ["core/Service/blog/cart", "core/Service/shop/cart", "core/Service/shop/cart#http"]
}

test_names_without_types_are_an_error if {
	found := v1.names with data.objects as _objects with input as {}
	found.error.code == "InvalidInput"
}
