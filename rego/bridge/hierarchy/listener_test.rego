package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.lookup

_http_route := "gateway.networking.k8s.io/HTTPRoute"

# Why a listener with these allowedRoutes admits no HTTPRoutes from the namespace shop; the Gateway is in infra.
_refusal(allowed_routes) := _refusal_of({"name": "x", "port": 80, "protocol": "HTTP", "allowedRoutes": allowed_routes})

_refusal_of(listener) := hierarchy.listener_rejection(_gateway_key, listener, _http_route, "shop")

# Gateway API, AllowedRoutes.
test_a_listener_admits_the_namespaces_that_it_allows if {
	refusals := [refusal |
		some allowed in [
			{"namespaces": {"from": "All"}},
			{"namespaces": {"from": "Same"}},
			{"namespaces": {"from": "None"}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "blog"}}}},
			{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}},
			{"namespaces": {"from": "Selector"}},
			{},
		]
		labelled := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}}
		refusal := _refusal(allowed) with input as {"changes": {"upsert": [labelled]}}
	]
	no := "NotAllowedByListeners"
	refusals == ["", no, no, "", no, "", no, no]
}

test_a_listener_without_allowed_routes_allows_its_own_namespace if {
	hierarchy.listener_rejection(_gateway_key, {"name": "x", "port": 80, "protocol": "HTTP"}, _http_route, "infra") == ""
}

# P2: a Namespace that is not there still has its name, so manifests of one application can be checked alone.
test_a_namespace_that_is_missing_has_the_label_of_its_name if {
	lookup.namespace_labels("shop") == {"kubernetes.io/metadata.name": "shop"}
}

test_a_listener_admits_the_kinds_that_it_allows_or_its_protocol_takes if {
	all := {"namespaces": {"from": "All"}}
	refusals := [refusal |
		some listener in [
			{"protocol": "HTTP", "allowedRoutes": all},
			{"protocol": "HTTPS", "allowedRoutes": all},
			{"protocol": "TCP", "allowedRoutes": all},
			{"protocol": "acme.io/tunnel", "allowedRoutes": all},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"kind": "GRPCRoute"}]})},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"kind": "HTTPRoute"}]})},
			{"protocol": "HTTP", "allowedRoutes": object.union(all, {"kinds": [{"group": "acme.io", "kind": "HTTPRoute"}]})},
		]
		refusal := _refusal_of(object.union(listener, {"name": "x", "port": 80}))
	]
	no := "NotAllowedByListeners"
	refusals == ["", "", no, "", no, "", no]
}

# Gateway API, ProtocolType and TLSModeType.
test_a_tls_listener_takes_tlsroutes_and_where_tls_ends_there_tcproutes if {
	admitted := {mode: kinds |
		some mode in ["Passthrough", "Terminate"]
		listener := {"name": "x", "port": 443, "protocol": "TLS", "tls": {"mode": mode}}
		kinds := [kind |
			some kind in ["HTTPRoute", "TLSRoute", "TCPRoute"]
			type := concat("/", ["gateway.networking.k8s.io", kind])
			hierarchy.listener_rejection(_gateway_key, listener, type, "infra") == ""
		]
	}
	admitted == {"Passthrough": ["TLSRoute"], "Terminate": ["TLSRoute", "TCPRoute"]}
}
