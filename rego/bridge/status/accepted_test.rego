package bridge.status_test

import data.bridge.status
import data.bridge.testing

_warm := "example.com/ColorPolicy/shop/warm"

_cart_ref := testing.ref("HTTPRoute", "cart")

_gone := testing.ref("HTTPRoute", "gone")

_accepted(refs) := condition if {
	policy := testing.color("shop", "warm", 1, refs, {"theme": "dark"})
	condition := status.accepted_condition(_warm) with input as testing.changed([policy])
}

_condition(state, reason, message) := {"type": "Accepted", "status": state, "reason": reason, "message": message}

test_a_policy_whose_refs_are_all_accepted_is_accepted if {
	_accepted([_cart_ref]) == _condition("True", "Accepted", "Policy has been accepted")
}

# T4
test_a_policy_with_one_accepted_ref_is_accepted_and_names_the_others if {
	_accepted([_gone, _cart_ref, testing.service_ref("cart")]) == _condition("True", "Accepted", concat("", [
		"Policy has been accepted, but not for 2 of its targets: ",
		"Target HTTPRoute shop/gone is not found; ColorPolicy cannot target a Service",
	]))
}

# T4
test_a_policy_with_no_accepted_ref_has_the_reason_of_the_first if {
	_accepted([_gone, testing.service_ref("cart")]) == _condition("False", "TargetNotFound", "Target HTTPRoute shop/gone is not found")
}

test_a_policy_without_refs_is_invalid if {
	_accepted([]) == _condition("False", "Invalid", "Policy names no target: spec.targetRefs is missing or empty")
}

test_a_policy_without_spec_is_invalid if {
	bare := testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")
	condition := status.accepted_condition(_warm) with input as testing.changed([bare])
	condition == _condition("False", "Invalid", "Policy has no spec")
}
