package bridge.problems_test

import data.bridge.problems
import data.bridge.testing

_pier := "gateway.networking.k8s.io/Gateway/infra/pier"

_listener(more) := object.union({"name": "quay", "port": 443, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}, more)

_found(key, objects, reason) := {[problem.about, problem.value, object.get(problem, "enforcementAction", "deny"), problem.message] |
	some problem in found
	problem.reason == reason
} if {
	found := problems.of(key) with input as testing.changed(objects)
}

_route_kinds(kinds) := _found(_pier, [testing.gateway("pier", [_listener({"allowedRoutes": {"namespaces": {"from": "All"}, "kinds": kinds}})])], "InvalidRouteKinds")

test_a_misspelled_kind_beside_a_right_one_in_a_listener_is_a_problem_with_the_nearest_name if {
	_route_kinds([{"kind": "HTTPRoute"}]) == set()
	_route_kinds([{"kind": "HTTPRoute"}, {"kind": "GRPCRuote"}]) == {[
		_pier, "quay gateway.networking.k8s.io/GRPCRuote", "deny",
		`Gateway/infra/pier#quay: allowedRoutes.kinds[1]: no CRD defines "gateway.networking.k8s.io/GRPCRuote"; did you mean "gateway.networking.k8s.io/GRPCRoute"?`,
	]}
	count(_route_kinds([{"group": "core", "kind": "HTTPRoute"}])) == 1
	count(_route_kinds([{"group": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}])) == 1
}

test_a_kind_that_a_protocol_excludes_or_that_is_no_route_is_a_problem if {
	messages := {message | some [_, _, _, message] in _route_kinds([{"kind": "GRPCRoute"}, {"kind": "TCPRoute"}, {"group": "", "kind": "Service"}])}
	messages == {
		"Gateway/infra/pier#quay: allowedRoutes.kinds[1]: a listener with the protocol HTTP takes no TCPRoutes",
		"Gateway/infra/pier#quay: allowedRoutes.kinds[2]: Service is not a kind of route",
	}
}

test_routes_of_another_vendor_are_no_problem_of_a_listener if {
	_route_kinds([{"group": "routes.example.org", "kind": "QueueRoute"}]) == set()
}

_certificates(tls, class, annotations) := {[problem.value, object.get(problem, "enforcementAction", "deny")] |
	some problem in found
	problem.reason == "CertificateMissing"
} if {
	pier := object.union(testing.gateway("pier", [_listener(object.union({"protocol": "HTTPS"}, tls))]), {
		"metadata": {"annotations": annotations},
		"spec": {"gatewayClassName": "port"},
	})
	found := problems.of(_pier) with input as testing.changed(array.concat([pier], class))
}

_class(controller) := [testing.with_spec(testing.resource(testing.gateway_api, "GatewayClass", "", "port"), {"controllerName": controller})]

test_an_https_listener_without_tls_is_a_problem_and_a_warning_without_a_known_class if {
	_certificates({}, _class("gateway.envoyproxy.io/gatewayclass-controller"), {}) == {["quay", "deny"]}
	_certificates({}, [], {}) == {["quay", "warn"]}
	_certificates({"tls": {"certificateRefs": [{"name": "pier"}]}}, [], {}) == set()
}

test_a_certificate_of_another_namespace_needs_a_grant if {
	found := {[problem.value, problem.message] |
		some problem in problems.of(_pier) with input as testing.changed([testing.gateway("pier", [
			_listener({"protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert", "namespace": "vault"}, {"name": "own"}]}}),
			_listener({"name": "through", "port": 444, "protocol": "TLS", "tls": {"mode": "Passthrough", "certificateRefs": [{"name": "cert", "namespace": "vault"}]}}),
		])])
		problem.reason == "RefNotPermitted"
	}
	found == {["quay", "Gateway/infra/pier#quay cannot use 1 of its 2 certificates: no ReferenceGrant in namespace vault lets Gateway/infra/pier name Secret/vault/cert"]}
}

test_certificates_of_a_load_balancer_need_no_tls if {
	_certificates({}, _class("gateway.k8s.aws/alb"), {}) == set()
	_certificates({}, _class("networking.gke.io/gateway"), {"networking.gke.io/certmap": "pier"}) == set()
	count(_certificates({}, _class("networking.gke.io/gateway"), {})) == 1
}

test_https_listeners_of_listenersets_need_tls_too if {
	set := testing.with_spec(testing.resource(testing.gateway_api, "ListenerSet", "infra", "wharf"), {
		"parentRef": {"name": "pier"},
		"listeners": [_listener({"protocol": "HTTPS"})],
	})
	pier := object.union(testing.gateway("pier", [_listener({})]), {"spec": {"allowedListeners": {"namespaces": {"from": "Same"}}}})
	found := {problem.value | some problem in problems.of("gateway.networking.k8s.io/ListenerSet/infra/wharf"); problem.reason == "CertificateMissing"} with input as testing.changed([set, pier])
	found == {"quay"}
}

test_each_hostname_that_no_listener_serves_is_a_warning_of_its_route if {
	pier := testing.gateway("pier", [_listener({"hostname": "a.test"}), _listener({"name": "wide", "port": 80, "hostname": "*.b.test"})])
	boats := testing.with_hostnames(testing.route("boats", [{"name": "pier", "namespace": "infra"}], [{"name": "r"}]), ["A.test", "c.test", "x.b.test", "d.test"])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/boats"
	_found(key, [pier, boats], "NoMatchingListenerHostname") == {
		[key, "c.test", "warn", "no listener that accepts HTTPRoute/shop/boats serves its hostname c.test"],
		[key, "d.test", "warn", "no listener that accepts HTTPRoute/shop/boats serves its hostname d.test"],
	}
}

test_a_hostname_that_a_more_specific_listener_takes_is_not_served if {
	pier := testing.gateway("pier", [_listener({"hostname": "*.test"}), _listener({"name": "own", "hostname": "a.test"})])
	boats := testing.with_hostnames(testing.route("boats", [{"name": "pier", "namespace": "infra", "sectionName": "quay"}], [{"name": "r"}]), ["a.test", "c.test"])
	found := _found("gateway.networking.k8s.io/HTTPRoute/shop/boats", [pier, boats], "NoMatchingListenerHostname")
	[value | some [_, value, _, _] in found] == ["a.test"]
}
