package bridge.lookup_test

import data.bridge.lookup
import data.bridge.testing

_cart := "core/Service/shop/cart"

_old := testing.service("cart", [{"port": 80}])

_new := testing.service("cart", [{"port": 81}])

_catalog := testing.service("catalog", [])

_stored := testing.stored([_old, _catalog])

test_an_object_is_found_by_its_key if {
	found := lookup.get(_cart) with data.objects as _stored
	found == _old
}

test_a_change_replaces_an_object if {
	found := lookup.get(_cart) with data.objects as _stored with input as {"changes": {"upsert": [_new]}}
	found == _new
}

test_a_change_deletes_an_object if {
	not lookup.get(_cart) with data.objects as _stored with input as {"changes": {"delete": [_cart]}}
}

test_a_deleted_and_recreated_object_exists if {
	changes := {"delete": [_cart], "upsert": [_new]}
	found := lookup.get(_cart) with data.objects as _stored with input as {"changes": changes}
	found == _new
}

test_deleted_namespace_takes_its_objects_along if {
	far := testing.resource("v1", "Service", "blog", "posts")
	stored := testing.stored([_old, _catalog, far, testing.resource("v1", "Namespace", "", "shop")])
	changes := {"delete": ["core/Namespace/-/shop"], "upsert": [_new]}
	found := lookup.deleted_keys with data.objects as stored with input as {"changes": changes}
	found == {"core/Namespace/-/shop", "core/Service/shop/catalog"}
	names := lookup.objects_in("core/Service", "shop") with data.objects as stored with input as {"changes": changes}
	names == {"cart": _new}
}

test_deleted_crd_takes_the_objects_of_its_kind_along if {
	crd := testing.with_spec(
		testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com"),
		{"group": "example.com", "names": {"kind": "Widget"}},
	)
	widgets := [testing.resource("example.com/v1", "Widget", namespace, "one") | some namespace in ["shop", "blog"]]
	stored := testing.stored(array.concat([_old, crd], widgets))
	key := "apiextensions.k8s.io/CustomResourceDefinition/-/widgets.example.com"
	found := lookup.deleted_keys with data.objects as stored with input as {"changes": {"delete": [key]}}
	found == {key, "example.com/Widget/shop/one", "example.com/Widget/blog/one"}
}

test_deleted_crd_takes_nothing_along_if_an_older_one_has_its_kind if {
	old := _aged_crd("widgets", "2026-01-01T00:00:00Z")
	young := _aged_crd("gadgets", "2026-01-02T00:00:00Z")
	widget := testing.resource("example.com/v1", "Widget", "shop", "one")
	stored := testing.stored([old, young, widget])
	every name, taken in {"widgets": {"example.com/Widget/shop/one"}, "gadgets": set()} {
		key := sprintf("apiextensions.k8s.io/CustomResourceDefinition/-/%s.example.com", [name])
		found := lookup.deleted_keys with data.objects as stored with input as {"changes": {"delete": [key]}}
		found == {key} | taken
	}
}

_aged_crd(plural, created) := object.union(
	testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", sprintf("%s.example.com", [plural])),
	{"metadata": {"creationTimestamp": created}, "spec": {"group": "example.com", "names": {"kind": "Widget", "plural": plural}}},
)

test_type_with_deleted_objects_alone_is_none if {
	stored := testing.stored([_old, testing.resource("v1", "Namespace", "", "shop")])
	found := lookup.types with data.objects as stored with input as {"changes": {"delete": [_cart]}}
	found == {"core/Namespace"}
	left := lookup.types with data.objects as testing.stored([_old, _catalog]) with input as {"changes": {"delete": [_cart]}}
	left == {"core/Service"}
}

test_namespace_that_is_deleted_and_created_again_keeps_its_objects if {
	namespace := testing.resource("v1", "Namespace", "", "shop")
	changes := {"delete": ["core/Namespace/-/shop"], "upsert": [namespace]}
	found := lookup.get(_cart) with data.objects as testing.stored([_old, namespace]) with input as {"changes": changes}
	found == _old
}

test_objects_of_a_namespace_are_stored_ones_and_changed_ones if {
	other := testing.service("other", [])
	changes := {"delete": ["core/Service/shop/catalog", "core/Pod/shop/cart"], "upsert": [_new, other]}
	found := lookup.objects_in("core/Service", "shop") with data.objects as _stored with input as {"changes": changes}
	found == {"cart": _new, "other": other}
}

test_namespaces_of_a_kind_are_stored_ones_and_changed_ones if {
	far := testing.resource("v1", "Service", "blog", "posts")
	pod := testing.resource("v1", "Pod", "infra", "posts")
	found := lookup.namespaces_of("core/Service") with data.objects as _stored
		with input as {"changes": {"upsert": [far, pod]}}
	found == {"shop", "blog"}
}

test_an_object_that_a_change_holds_twice_is_found_out if {
	changes := {"upsert": [_old, _new, _catalog]}
	twice := lookup.duplicate_keys with input as {"changes": changes}
	upserts := lookup.upserts with input as {"changes": changes}
	twice == {_cart}
	upserts == {"core/Service/shop/catalog": _catalog}
}

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
test_objects_without_a_time_of_creation_are_the_youngest if {
	every policy in [_aged(null), _aged(""), _aged(3), testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")] {
		age := lookup.age("example.com/ColorPolicy/shop/warm") with input as testing.changed([policy])
		age == 9223372036854775807
	}
}

test_a_namespace_exists_or_has_an_object if {
	held := testing.stored([testing.resource("v1", "Pod", "shop", "till"), testing.resource("v1", "Pod", "mill", "wheel"), testing.resource("v1", "Namespace", "", "void")])
	stored := lookup.namespaces with data.objects as held
	stored == {"shop", "mill", "void"}
	changes := {"upsert": [testing.resource("v1", "Pod", "quay", "crane")], "delete": ["core/Pod/mill/wheel"]}
	changed := lookup.namespaces with data.objects as held with input as {"changes": changes}
	changed == {"shop", "quay", "void"}
}
