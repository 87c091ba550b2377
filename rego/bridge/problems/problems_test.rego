package bridge.problems_test

import data.bridge.problems
import data.bridge.testing

_of(key, objects) := found if {
	found := {[problem.about, problem.reason] | some problem in problems.of(key)} with input as testing.changed(objects)
}

test_each_ref_that_is_not_accepted_is_a_problem if {
	torn := testing.color("shop", "torn", 1, [testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "gone")], {"theme": "dark"})
	_of("example.com/ColorPolicy/shop/torn", [torn]) == {["gateway.networking.k8s.io/HTTPRoute/shop/gone", "TargetNotFound"]}
}

test_a_policy_without_targets_is_a_problem_itself if {
	lost := testing.color("shop", "lost", 1, [], {"theme": "dark"})
	_of("example.com/ColorPolicy/shop/lost", [lost]) == {["example.com/ColorPolicy/shop/lost", "Invalid"]}
}

test_a_policy_that_a_rule_names_as_a_filter_is_a_warning_about_the_route if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "QuickPolicy",
		"class": "Inherited",
		"effectiveTarget": "Rule",
		"targets": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
		"optionalRefs": true,
	})
	extension := {"type": "ExtensionRef", "extensionRef": {"group": "example.com", "kind": "QuickPolicy", "name": "quick"}}
	filtered := testing.route("filtered", [{"name": "public", "namespace": "infra"}], [{}, {"filters": [extension]}])
	quick := testing.with_spec(testing.resource("example.com/v1", "QuickPolicy", "shop", "quick"), {"seconds": 1})
	key := "example.com/QuickPolicy/shop/quick"
	_of("gateway.networking.k8s.io/HTTPRoute/shop/filtered", [kind, filtered, quick]) == {[key, "Incomplete"]}
}

test_a_policy_that_is_overridden_everywhere_is_a_problem if {
	top := testing.color("infra", "top", 1, [testing.ref("Gateway", "public")], {"overrides": {"theme": "dark"}})
	low := testing.color("shop", "low", 2, [testing.ref("HTTPRoute", "cart")], {"defaults": {"theme": "light"}})
	_of("example.com/ColorPolicy/shop/low", [top, low]) == {["example.com/ColorPolicy/shop/low", "Overridden"]}
	_of("example.com/ColorPolicy/infra/top", [top, low]) == set()
}

test_defaults_that_more_specific_policies_replace_are_a_warning if {
	top := testing.color("infra", "top", 1, [testing.ref("Gateway", "public")], {"defaults": {"theme": "dark"}})
	low := testing.color("shop", "low", 2, [testing.ref("HTTPRoute", "cart")], {"overrides": {"theme": "light"}})
	found := {problem.enforcementAction | some problem in problems.of("example.com/ColorPolicy/infra/top")} with input as testing.changed([top, low])
	found == {"warn"}
}

test_a_policy_that_reaches_nothing_is_a_problem if {
	empty := testing.route("empty", [{"name": "public", "namespace": "infra"}], [])
	low := testing.color("shop", "low", 2, [testing.ref("HTTPRoute", "empty")], {"defaults": {"theme": "light"}})
	_of("example.com/ColorPolicy/shop/low", [empty, low]) == {["example.com/ColorPolicy/shop/low", "NoScope"]}
}

test_an_unknown_kind_that_a_policykind_names_is_a_problem_of_the_policykind if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "FarPolicy",
		"class": "Direct",
		"targets": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRuote"}],
	})
	key := "policybridge.io/PolicyKind/-/farpolicy"
	_of(key, [kind]) == {[key, "UnknownKind"]}
}

test_ignored_links_are_problems_of_the_declaring_objects if {
	torn := testing.route(
		"torn",
		[{"name": "gone", "namespace": "infra"}],
		[{"name": "all", "backendRefs": [{"name": "cart", "port": 80}, {"name": "missing", "port": 80}, {"name": "far", "namespace": "infra", "port": 80}]}],
	)
	_of("gateway.networking.k8s.io/HTTPRoute/shop/torn", [torn]) == {
		["gateway.networking.k8s.io/Gateway/infra/gone", "ParentNotFound"],
		["core/Service/shop/missing", "BackendNotFound"],
		["core/Service/infra/far", "RefNotPermitted"],
	}
	_of("core/Service/shop/cart", [torn]) == set()
}

_torn(ref) := object.union(testing.route("torn", [ref], []), {"spec": {"hostnames": ["www.example.com"]}})

# Gateway API, ParentReference.sectionName: a route is accepted if one listener accepts it.
test_a_listener_is_a_problem_only_if_the_parent_ref_has_no_other_or_names_it if {
	far := object.union(testing.listener("far", 81), {"hostname": "far.example.com"})
	gateway := testing.gateway("two", [testing.listener("near", 80), far])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/torn"
	_of(key, [gateway, _torn({"name": "two", "namespace": "infra"})]) == set()
	_of(key, [gateway, _torn({"name": "two", "namespace": "infra", "port": 81})]) == {[
		"gateway.networking.k8s.io/Gateway/infra/two#far",
		"NoMatchingListenerHostname",
	]}
}

test_objects_in_deletion_have_no_problems if {
	lost := testing.color("shop", "lost", 1, [], {"theme": "dark"})
	going := object.union(lost, {"metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z"}})
	_of("example.com/ColorPolicy/shop/lost", [going]) == set()
}

test_a_policykind_that_is_invalid_is_a_problem if {
	odd := testing.policykind({"group": "example.com", "kind": "OddPolicy", "class": "Direct", "effectiveTarget": "Rule"})
	_of("policybridge.io/PolicyKind/-/oddpolicy", [odd]) == {["policybridge.io/PolicyKind/-/oddpolicy", "Invalid"]}
}

test_constraint_without_its_policy_is_a_problem if {
	lost := testing.with_spec(testing.resource("policybridge.io/v1alpha1", "Constraint", "", "lost"), {"policy": "testing.nowhere"})
	found := {problem.reason | some problem in problems.of("policybridge.io/Constraint/-/lost")} with data.objects as testing.stored([lost])
	found == {"PolicyNotFound"}
}

_gateway(name, class) := object.union(testing.resource("gateway.networking.k8s.io/v1", "Gateway", "infra", name), {"spec": {"gatewayClassName": class, "listeners": []}})

_problems_of_gateway(objects) := [object.get(problem, "enforcementAction", "deny") |
	some problem in found
	problem.reason == "ParentNotFound"
] if {
	found := problems.of("gateway.networking.k8s.io/Gateway/infra/edge") with input as {"changes": {"upsert": objects}}
}

test_a_class_that_a_platform_installs_is_no_problem_of_manifests if {
	class := object.union(testing.resource("gateway.networking.k8s.io/v1", "GatewayClass", "", "internal"), {"spec": {"controllerName": "example.com/c"}})
	_problems_of_gateway([_gateway("edge", "gke-l7-rilb")]) == []
	_problems_of_gateway([_gateway("edge", "gke-l7-rilb"), class]) == ["warn"]
	_problems_of_gateway([_gateway("edge", "interal"), class]) == ["deny"]
}

test_a_class_that_a_change_deletes_is_a_problem_of_its_gateways if {
	other := object.union(testing.resource("gateway.networking.k8s.io/v1", "GatewayClass", "", "zone"), {"spec": {"controllerName": "example.com/c"}})
	every objects in [[], [other]] {
		found := problems.of("gateway.networking.k8s.io/Gateway/infra/edge") with input as {
			"changes": {"upsert": array.concat(objects, [_gateway("edge", "internal")])},
			"deleted": ["gateway.networking.k8s.io/GatewayClass/-/internal"],
		}
		[object.get(problem, "enforcementAction", "deny") | some problem in found; problem.reason == "ParentNotFound"] == ["deny"]
	}
}

test_a_parent_ref_to_a_route_is_a_warning if {
	below := testing.route("below", [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cart"}], [])
	found := {[problem.reason, problem.message, problem.enforcementAction] | some problem in problems.of("gateway.networking.k8s.io/HTTPRoute/shop/below")} with input as testing.changed([below])
	found == {["NoMatchingParent", "no rule of HTTPRoute/shop/cart has this route as a backend", "warn"]}
}

_calls(hostnames, created) := {
	"apiVersion": "gateway.networking.k8s.io/v1",
	"kind": "GRPCRoute",
	"metadata": {"name": "calls", "namespace": "shop", "creationTimestamp": created},
	"spec": {"hostnames": hostnames, "parentRefs": [{"name": "quay", "namespace": "infra"}], "rules": [{"name": "r"}]},
}

_shared(call, controller) := {problem.message | some problem in found; problem.reason == "SharedHostname"; problem.enforcementAction == "warn"} if {
	web := object.union(testing.route("web", [{"name": "quay", "namespace": "infra"}], [{"name": "r"}]), {
		"metadata": {"creationTimestamp": "2026-01-01T00:00:05Z"},
		"spec": {"hostnames": ["A.test"]},
	})
	class := {
		"apiVersion": "gateway.networking.k8s.io/v1",
		"kind": "GatewayClass",
		"metadata": {"name": "own"},
		"spec": {"controllerName": controller},
	}
	quay := object.union(testing.gateway("quay", [testing.listener("http", 80)]), {"spec": {"gatewayClassName": "own"}})
	found := problems.of("gateway.networking.k8s.io/GRPCRoute/shop/calls") with input as testing.changed([call, web, class, quay])
}

test_a_grpcroute_that_shares_a_hostname_with_an_httproute_is_a_warning if {
	some message in _shared(_calls(["b.test", "a.test"], "2026-01-01T00:00:01Z"), "example.com/x")
	contains(message, "have hostname a.test in common")
	endswith(message, "accept only the older route, GRPCRoute/shop/calls")
	some other in _shared(_calls(["a.test"], "2026-01-01T00:00:09Z"), "example.com/x")
	endswith(other, "accept only the older route, HTTPRoute/shop/web")
	_shared(_calls(["b.test"], "2026-01-01T00:00:01Z"), "example.com/x") == set()
	_shared(_calls(["a.test"], "2026-01-01T00:00:01Z"), "istio.io/gateway-controller") == set()
}

_hints := {
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "hintpolicies.pier.example.org", "labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
	"spec": {"group": "pier.example.org", "names": {"kind": "HintPolicy", "plural": "hintpolicies"}, "scope": "Namespaced", "versions": [{
		"name": "v1", "served": true, "storage": true,
		"schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"targetRefs": {"type": "array"}}}}}},
	}]},
}

_hint(name, target) := {
	"apiVersion": "pier.example.org/v1",
	"kind": "HintPolicy",
	"metadata": {"name": name, "namespace": "shop"},
	"spec": {"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": target}]},
}

test_policies_of_a_kind_that_is_a_guess_are_reported_as_not_judged if {
	found := {[problem.reason, problem.about, object.get(problem, "enforcementAction", "deny")] |
		some problem in problems.of("pier.example.org/HintPolicy/shop/two")
	} with input as testing.changed([_hints, _hint("one", "cart"), _hint("two", "cart")])
	found == {["NotJudged", "pier.example.org/HintPolicy/shop/two", "warn"]}
	lost := {problem.reason | some problem in problems.of("pier.example.org/HintPolicy/shop/lost")} with input as testing.changed([_hints, _hint("lost", "gone")])
	lost == {"NotJudged", "TargetNotFound"}
}
