package bridge.request

import data.bridge.lookup

# Routes without matches are served by the first rule: a TLSRoute by its hostname, TCPRoute and UDPRoute by their
# listener.
possible_rules(type, route_key) := {[[0], 0, set()] | lookup.get(route_key).spec.rules[0]} if {
	not type in {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"}
}
