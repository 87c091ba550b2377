package bridge.status_test

import data.bridge.lib.keys
import data.bridge.status
import data.bridge.testing

_cart := "core/Service/shop/cart"

_timeout_kind := "example.com/TimeoutPolicy"

_affecting := {_timeout_kind: {"": [_slow]}}

_affected(object_key, acting, objects) := found if {
	found := status.affected_status(object_key, acting, {}, []) with input as testing.changed(objects)
}

_replaced(objects) := {"changes": {"upsert": array.concat(others, objects)}} if {
	replaced := {keys.of(obj) | some obj in objects}
	others := [obj | some obj in testing.world; not keys.of(obj) in replaced]
}

_timeout_condition(message) := {
	"type": "example.com/TimeoutPolicyAffected",
	"status": "True",
	"reason": "Affected",
	"message": message,
}

_by_slow := _timeout_condition("Affected by TimeoutPolicy/shop/slow")

# S4, GEP-713 "Target object status"
test_an_object_shows_the_policies_that_affect_it if {
	acting := {_timeout_kind: {"": [_slow, "example.com/TimeoutPolicy/shop/fast"]}, "example.com/ColorPolicy": {}}
	_affected(_cart, acting, []) == {
		"object": _cart,
		"types": [
			"example.com/ColorPolicyAffected",
			"example.com/ColorPolicyNotReported",
			"example.com/TimeoutPolicyAffected",
			"example.com/TimeoutPolicyNotReported",
		],
		"controllers": ["example.com/color-controller", "example.com/timeout-controller"],
		"conditions": [_timeout_condition("Affected by TimeoutPolicy/shop/fast, TimeoutPolicy/shop/slow")],
	}
}

# S4
test_an_affected_condition_has_the_objects_generation if {
	service := object.union(testing.service("cart", []), {"metadata": {"generation": 3}})
	found := status.affected_status(_cart, _affecting, {}, []) with input as _replaced([service])
	found.conditions == [object.union(_by_slow, {"observedGeneration": 3})]
}

# S1
test_an_affected_condition_names_twenty_policies_and_counts_the_rest if {
	policies := [sprintf("example.com/TimeoutPolicy/shop/p%02d", [n]) | some n in numbers.range(1, 22)]
	listed := concat(", ", [sprintf("TimeoutPolicy/shop/p%02d", [n]) | some n in numbers.range(1, 20)])
	found := _affected(_cart, {_timeout_kind: {"": policies}}, [])
	found.conditions == [_timeout_condition(sprintf("Affected by %s, and 2 more", [listed]))]
}

_quiet(fields) := testing.policykind(object.union(
	{"group": "example.com", "kind": "QuietPolicy", "class": "Direct", "controllerName": "example.com/quiet"},
	fields,
))

# S4
test_a_kind_that_is_only_observed_marks_nothing if {
	_affected(_cart, {"example.com/QuietPolicy": {"": ["example.com/QuietPolicy/shop/q"]}}, [_quiet({"mode": "Observe"})]).conditions == []
}

# S4
test_condition_types_of_managed_kinds_and_of_former_ones_are_ours if {
	former := [{"controllerName": "old.io/ctl", "kind": "OldPolicy"}]
	types := status.our_types(former) with input as testing.changed([_quiet({"mode": "Manage"})])
	types == {
		"example.com/ColorPolicyAffected",
		"example.com/ColorPolicyNotReported",
		"example.com/TimeoutPolicyAffected",
		"example.com/TimeoutPolicyNotReported",
		"example.com/QuietPolicyAffected",
		"example.com/QuietPolicyNotReported",
		"old.io/OldPolicyAffected",
		"old.io/OldPolicyNotReported",
	}
}

_gateway_key := "gateway.networking.k8s.io/Gateway/infra/public"

_reporting_gateway := object.union(
	testing.gateway("public", [testing.listener("http", 80), testing.listener("alt", 8080)]),
	{"status": {"listeners": [{"name": "http", "conditions": [{"type": "Accepted"}]}]}},
)

# S4
test_a_listener_tells_in_its_own_status_once_its_controller_has_begun_that if {
	acting := {_timeout_kind: {"http": [_slow], "alt": [_slow]}}
	found := status.affected_status(_gateway_key, acting, {}, []) with input as _replaced([_reporting_gateway])
	[found.conditions, found.listeners] == [[], {"http": [_by_slow]}]
}

_http_ref := {"name": "public", "namespace": "infra", "sectionName": "http"}

_via(reference) := {_timeout_kind: {json.marshal(reference): [_slow]}}

# S4
test_a_route_tells_for_each_parent_under_our_controllers_name if {
	found := _affected(testing.cart_route, _via(_http_ref), [])
	found.parents == [{"parentRef": _http_ref, "controllerName": "example.com/timeout-controller", "conditions": [_by_slow]}]
	not found.conditions
	not found.annotations
}

# S4, Gateway API RouteStatus
test_a_full_list_of_parents_does_not_grow if {
	route := object.union(
		testing.route("cart", [_http_ref], [{}]),
		{"status": {"parents": [{"controllerName": sprintf("acme.io/%d", [n])} | some n in numbers.range(1, 32)]}},
	)
	found := status.affected_status(testing.cart_route, _via(_http_ref), {}, []) with input as _replaced([route])
	found.parents == []
}

_bucket := testing.resource("acme.io/v1", "Bucket", "shop", "files")

_bucket_crd(status_schema) := testing.with_spec(
	testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "buckets.acme.io"),
	{
		"group": "acme.io",
		"names": {"kind": "Bucket"},
		"versions": [{
			"subresources": {"status": {}},
			"schema": {"openAPIV3Schema": {"properties": {"status": {"properties": status_schema}}}},
		}],
	},
)

# S4, GEP-713 "Target object status"
test_a_kind_without_conditions_has_an_annotation if {
	found := _affected("acme.io/Bucket/shop/files", _affecting, [_bucket, _bucket_crd({})])
	[found.annotations, object.get(found, "conditions", "none")] == [{"example.com/TimeoutPolicyAffected": "true"}, "none"]
}

# S4
test_a_kind_with_conditions_in_its_crd_shows_them_as_far_as_there_is_room if {
	shown := [found.conditions |
		some schema in [{"conditions": {}}, {"conditions": {"maxItems": 1}}]
		some theirs in [[], [{"type": "Theirs"}]]
		bucket := object.union(_bucket, {"status": {"conditions": theirs}})
		found := _affected("acme.io/Bucket/shop/files", _affecting, [bucket, _bucket_crd(schema)])
	]
	shown == [[_by_slow], [_by_slow], [_by_slow], []]
}

# S3
test_an_ancestor_without_a_status_entry_has_a_condition_and_no_annotation if {
	left_out := {_timeout_kind: {"": [_slow]}}
	on_service := status.affected_status(_cart, {}, left_out, []) with input as testing.changed([])
	on_bucket := status.affected_status("acme.io/Bucket/shop/files", {}, left_out, []) with input as testing.changed([_bucket])
	on_service.conditions == [{
		"type": "example.com/TimeoutPolicyNotReported",
		"status": "True",
		"reason": "AncestorsFull",
		"message": "Omitted from a full status by TimeoutPolicy/shop/slow",
	}]
	on_bucket.annotations == {}
}

# S4
test_policies_that_are_not_overridden_on_some_path_affect_target_and_effective_target if {
	policies := [
		_timeout([testing.service_ref("cart")]),
		testing.timeout("younger", 2, [testing.service_ref("cart")], {"request": "2s"}),
		testing.color("shop", "low", 1, [_cart_ref], {"theme": "dark"}),
		testing.color("shop", "high", 2, [_cart_ref], {"theme": "light"}),
		testing.color("infra", "wide", 3, [testing.ref("Gateway", "public")], {"overrides": {"shape": "round"}}),
		testing.color("infra", "other", 3, [testing.section_ref("Gateway", "public", "http")], {"theme": "grey"}),
	]
	acting := [found |
		some key in [_cart, testing.cart_route, _gateway_key, "core/Namespace/-/shop"]
		found := status.affecting_policies(key) with input as testing.changed(policies)
	]
	wide := {"example.com/ColorPolicy/infra/wide"}
	acting == [
		{"example.com/TimeoutPolicy": {"": {_slow}}},
		{"example.com/ColorPolicy": {json.marshal(_http_ref): wide}},
		{"example.com/ColorPolicy": {"": wide}},
		{},
	]
}

# S3
test_an_object_that_a_full_status_leaves_out_is_found_from_it if {
	others := [{"controllerName": "acme.io/other"} | some _ in numbers.range(1, 16)]
	full := object.union(_timeout([testing.service_ref("cart")]), {"status": {"ancestors": others}})
	found := [unreported |
		some key in [_cart, "core/Service/shop/other"]
		unreported := status.unreported_policies(key) with input as testing.changed([full, testing.service("other", [])])
	]
	found == [{"example.com/TimeoutPolicy": {"": {_slow}}}, {}]
}

# S3
test_a_gateway_that_a_full_status_leaves_out_is_found_from_the_nodes_below_it if {
	others := [obj | some obj in testing.world; not obj.kind in {"PolicyKind"}]
	filled := {"status": {"ancestors": [{"controllerName": "acme.io/other"} | some _ in numbers.range(1, 16)]}}
	kinds := [
		testing.policykind(object.union(testing.color_kind, {"statusShape": "Ancestors"})),
		testing.policykind(object.union(testing.timeout_kind, {"ancestorLevel": "Gateway"})),
	]
	policies := [
		object.union(testing.color("shop", "warm", 1, [_cart_ref], {"theme": "dark"}), filled),
		object.union(_timeout([testing.service_ref("cart")]), filled),
	]
	found := status.unreported_policies(_gateway_key) with input as {"changes": {"upsert": array.concat(others, array.concat(kinds, policies))}}
	found == {"example.com/ColorPolicy": {"": {_warm}}, "example.com/TimeoutPolicy": {"": {_slow}}}
}
