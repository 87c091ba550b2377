package bridge.table_test

import data.bridge.lib.matches
import data.bridge.table

test_calls_of_envoy_gateway_are_ordered_by_their_paths if {
	order := [table.rank_by_paths("gateway.networking.k8s.io/GRPCRoute", conditions) |
		some method in [{"service": "s", "method": "m"}, {"service": "s", "method": "m", "type": "RegularExpression"}, {"service": "s", "type": "RegularExpression"}, {"service": "s"}, {"method": "m"}, {}]
		conditions := matches.conditions_of("Envoy Gateway", "gateway.networking.k8s.io/GRPCRoute", {"method": method})
	] with input as {"grpc": {"service": "s", "method": "m"}}
	[rank[0] | some rank in order] == [0, 1, 1, 2, 2, 2]
	[[rank[1], rank[2][0]] | some rank in order] == [[-4, 0], [-4, 0], [-25, 0], [-2, 0], [0, -1], [0, 0]]
}

# Istio: createGRPCURIMatch and sortHTTPRoutes in pilot/pkg/config/kube/gateway/conversion.go.
test_calls_of_istio_are_ordered_by_exact_calls_services_and_patterns if {
	order := [table._match_order("Istio", "gateway.networking.k8s.io/GRPCRoute", conditions)[1] |
		some match in [
			{"method": {"service": "s", "method": "m"}},
			{"method": {"service": "s"}, "headers": [{"name": "x", "value": "1"}]},
			{"method": {"service": "s"}},
			{"method": {"service": "s", "method": "m", "type": "RegularExpression"}},
			{"method": {"service": "s", "type": "RegularExpression"}},
			{"method": {"method": "m"}},
			{},
		]
		conditions := matches.conditions_of("Istio", "gateway.networking.k8s.io/GRPCRoute", match)
	] with input as {"grpc": {"service": "s", "method": "m"}, "headers": {"x": "1"}}
	order == [[0, -4, 0], [1, -3, -1], [1, -3, 0], [2, -4, 0], [2, -5, 0], [2, -8, 0], [3, 0, 0]]
}

_records(type, match, controller) := found if {
	own := {"Gateway API": {"precedence": "Gateway API"}, "Envoy Gateway": {"precedence": "Envoy Gateway"}}[controller]
	key := sprintf("gateway.networking.k8s.io/%s/shop/one", [type])
	route := {"apiVersion": "gateway.networking.k8s.io/v1", "kind": type, "metadata": {"name": "one", "namespace": "shop"}, "spec": {"rules": [{"matches": [match]}]}}
	found := table.records(own, key, 0, 0, match) with input as {"changes": {"upsert": [route]}}
}

test_record_has_the_conditions_besides_the_path if {
	match := {"path": {"value": "/a"}, "method": "GET", "headers": [{"name": "X-A", "value": "a+", "type": "RegularExpression"}]}
	[record] := [record | some record in _records("HTTPRoute", match, "Gateway API")]
	record.conditions == [[["method"], "Exact", "GET"], [["headers", "x-a"], "Present", "a+"]]
	record.patterns == [[["headers", "x-a"], "^(?:a+)$", 2]]
	object.keys(record.ranks) == {"Gateway API"}
}

test_call_has_other_conditions_for_envoy_gateway_and_for_gateway_api if {
	records := _records("GRPCRoute", {"method": {"service": "a.B", "method": "C"}}, "Envoy Gateway")
	{mark: record.conditions | some id, record in records; mark := substring(id, count(id) - 5, -1)} == {
		"e#0/0": [[["path"], "Exact", "/a.B/C"]],
		"other": [[["rpc"], "Exact", "C"], [["service"], "Exact", "a.B"]],
	}
}

test_pattern_too_heavy_is_named_instead_of_compiled if {
	[record] := [record | some record in _records("HTTPRoute", {"path": {"type": "RegularExpression", "value": "[a-k1]{1000}"}}, "Gateway API")]
	record.patterns == []
	record.heavy == "path is not compared with [a-k1]{1000}: the pattern weighs 2012, at most 2000 is compiled"
}
