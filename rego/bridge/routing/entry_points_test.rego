package bridge.routing_test

import data.bridge.routing
import data.bridge.table
import data.bridge.testing

_public := "gateway.networking.k8s.io/Gateway/infra/public"

_with_hostname(name, port, hostname) := object.union(testing.listener(name, port), {"hostname": hostname})

_listeners := testing.gateway("public", [
	testing.listener("any", 80),
	_with_hostname("wide", 80, "*.example.com"),
	_with_hostname("own", 80, "Shop.example.com"),
	object.union(testing.listener("raw", 90), {"protocol": "TCP"}),
])

_entries(query_input) := _entries_of(_listeners, query_input)

_entries_of(gateway, query_input) := [split(node, "#")[1] | some node in found] if {
	found := routing.entry_points with input as object.union(query_input, {"changes": {"upsert": [gateway]}})
}

test_the_listener_with_the_most_specific_hostname_takes_the_request if {
	_entries({"host": "shop.example.com"}) == ["own"]
	_entries({"host": "blog.example.com"}) == ["wide"]
	_entries({"host": "example.org"}) == ["any"]
}

test_a_listener_of_another_port_or_protocol_takes_it_not if {
	_entries({"host": "shop.example.com", "port": 81}) == []
	_entries({"port": 90}) == ["raw"]
	reason := table.refusal(sprintf("%s#own", [_public])) with input as {
		"host": "shop.example.com", "port": 81,
		"changes": {"upsert": [_listeners]},
	}
	reason == "PortDiffers"
}

test_a_request_over_tls_reaches_https_and_tls_listeners_and_one_without_tls_neither if {
	gateway := testing.gateway("public", [
		testing.listener("any", 80),
		object.union(testing.listener("secure", 443), {"protocol": "HTTPS"}),
		object.union(testing.listener("through", 8443), {"protocol": "TLS"}),
	])
	entries := [_entries_of(gateway, object.union(protocol, {"port": port})) |
		some protocol in [{"protocol": "HTTPS"}, {"protocol": "HTTP"}, {"host": "a"}]
		some port in [80, 443, 8443]
	]
	entries == [[], ["secure"], ["through"], ["any"], [], [], ["any"], ["secure"], []]
}
