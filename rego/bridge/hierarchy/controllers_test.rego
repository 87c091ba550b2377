package bridge.hierarchy_test

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.scopes
import data.bridge.testing

_class_of(controller) := testing.with_spec(
	testing.resource(testing.gateway_api, "GatewayClass", "", "example"),
	{"controllerName": controller},
)

# The world with a class of a controller, and a kind whose policies example.com/gw reads.
_controlled(controller, fields) := {"changes": {"upsert": array.concat(others, [
	_class_of(controller),
	testing.policykind(object.union(object.remove(testing.color_kind, ["specPaths", "strategies"]), object.union({"controllers": ["example.com/gw"]}, fields))),
	testing.color("infra", "public", 1, [testing.ref("Gateway", "public")], {"color": "red"}),
])}} if {
	others := [obj | some obj in testing.world; not obj.kind in {"GatewayClass", "PolicyKind"}]
}

_policy := "example.com/ColorPolicy/infra/public"

# P8
test_a_path_counts_below_a_class_of_a_controller_of_the_kind if {
	found := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/gw", {})
	found == {testing.cart_pay_path}
}

# P8
test_a_path_does_not_count_below_a_class_of_another_controller if {
	found := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", {})
	found == set()
	whole := hierarchy.all_kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", {})
	whole == {testing.cart_pay_path}
}

# P8
test_a_policy_reaches_nothing_below_another_controllers_class if {
	reached := scopes.reachable_scopes(_policy) with input as _controlled("example.com/gw", {})
	testing.cart_pay in reached
	others := scopes.reachable_scopes(_policy) with input as _controlled("example.com/other", {})
	others == set()
	in_part := scopes.sample_scopes(_policy, 10) with input as _controlled("example.com/other", {})
	in_part.scopes == set()
}

# P8
test_an_attachment_that_a_controller_keeps_off_is_explained if {
	every fields in [{}, {"class": "Direct", "effectiveTarget": "Target"}] {
		found := attachment.rejections("example.com/ColorPolicy", "gateway.networking.k8s.io/Gateway/infra/public") with input as _controlled("example.com/other", fields)
		{rejection.reason | some rejection in found} == {"OtherController"}
	}
}

# C2, P8
test_a_direct_kind_has_no_path_where_no_path_to_its_target_counts if {
	direct := {"class": "Direct", "effectiveTarget": "Target"}
	others := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/other", direct)
	others == set()
	own := hierarchy.kind_paths("example.com/ColorPolicy", testing.cart_pay) with input as _controlled("example.com/gw", direct)
	own == {[testing.cart_route, testing.cart_pay]}
}
