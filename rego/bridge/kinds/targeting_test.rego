package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_kinds := {
	"example.com/ColorPolicy": kinds.normal_form("example.com/ColorPolicy", testing.color_kind),
	"example.com/TimeoutPolicy": kinds.normal_form("example.com/TimeoutPolicy", testing.timeout_kind),
	"acme.io/RatePolicy": kinds.normal_form("acme.io/RatePolicy", _least),
}

_route := "gateway.networking.k8s.io/HTTPRoute"

# T2
test_a_kind_may_target_what_it_lists_or_anything if {
	kinds.may_target("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.may_target("example.com/ColorPolicy", "core/Service") with data.kinds as _kinds
	kinds.may_target("acme.io/RatePolicy", "core/Service") with data.kinds as _kinds
}

# T2
test_a_kind_may_target_sections_if_it_allows_them_and_the_type_has_any if {
	kinds.may_target_sections("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.may_target_sections("example.com/ColorPolicy", "gateway.networking.k8s.io/GatewayClass") with data.kinds as _kinds
	kinds.may_target_sections("acme.io/RatePolicy", _route) with data.kinds as _kinds
	kinds.may_target_sections("example.com/TimeoutPolicy", "core/Service") with data.kinds as _kinds
	not kinds.may_target_sections("acme.io/RatePolicy", "core/Namespace") with data.kinds as _kinds
}

# K4
test_a_kind_means_a_backend_as_a_frontend_by_its_role_or_by_the_level_that_it_acts_at if {
	every row in [
		[{"effectiveTarget": "Rule"}, true],
		[{"effectiveTarget": "Gateway"}, true],
		[{"effectiveTarget": "Backend"}, false],
		[{"effectiveTarget": "Port"}, false],
		[{"class": "Direct"}, false],
		[{"effectiveTarget": "Rule", "targets": [{"kind": "Service"}]}, true],
		[{"effectiveTarget": "Rule", "targets": [{"kind": "Service", "role": "Backend"}]}, false],
		[{"effectiveTarget": "Backend", "targets": [{"kind": "Service", "role": "Frontend"}]}, true],
	] {
		[spec, wanted] := row
		described := {"acme.io/P": kinds.normal_form("acme.io/P", object.union({"kind": "P"}, spec))}
		role := _frontend_role("acme.io/P", "core/Service") with data.kinds as described
		role == wanted
	}
	not kinds.frontend_role("acme.io/RatePolicy", _route) with data.kinds as _kinds
}

_frontend_role(kind, type) if {
	kinds.frontend_role(kind, type)
} else := false

# K4
test_a_frontend_has_no_sections_to_target if {
	not kinds.may_target_sections("acme.io/RatePolicy", "core/Service") with data.kinds as _kinds
}

# P3
test_a_kind_names_namespaces_in_paths_only_where_it_may_target_them if {
	kinds.names_namespaces("acme.io/RatePolicy") == true with data.kinds as _kinds
	kinds.names_namespaces("example.com/ColorPolicy") == false with data.kinds as _kinds
}

# P5
test_a_kind_acts_on_its_effective_kinds_or_on_all if {
	kinds.acts_on("example.com/ColorPolicy", _route) with data.kinds as _kinds
	not kinds.acts_on("example.com/ColorPolicy", "gateway.networking.k8s.io/GRPCRoute") with data.kinds as _kinds
	kinds.acts_on("acme.io/RatePolicy", "gateway.networking.k8s.io/GRPCRoute") with data.kinds as _kinds
}

# C2
test_a_kind_is_direct_or_not if {
	kinds.is_direct("example.com/TimeoutPolicy") with data.kinds as _kinds
	not kinds.is_direct("example.com/ColorPolicy") with data.kinds as _kinds
}
