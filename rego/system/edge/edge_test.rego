package system.edge_test

import data.system.edge

_decide(method, path) if edge.allow.allowed with input as {"method": method, "path": split(path, "/")}

test_queries_are_answered if {
	every method in {"GET", "POST"} {
		_decide(method, "v1/data/bridge/v1/effective")
		_decide(method, "v1/data/bridge/fleet/v1/effective/east")
	}
}

test_health_and_the_name_of_the_view_are_answered if {
	_decide("GET", "health")
	_decide("GET", "v1/data/bridge_view")
}

test_nothing_else_is_read if {
	every path in {
		"", "v1/data", "v1/data/objects", "v1/data/bridge", "v1/data/bridge/", "v1/data/bridge/../objects", "v1/config",
		"v1/policies", "v1/status", "metrics", "v0/data/bridge/v1/effective", "v1/data/bridge_settings", "debug/pprof",
	} {
		not _decide("GET", path)
	}
}

test_nothing_is_written_and_no_rego_evaluated if {
	every request in {
		["PUT", "v1/policies/evil"], ["DELETE", "v1/policies/x"], ["PUT", "v1/data/bridge/v1/effective"],
		["PATCH", "v1/data"], ["POST", "v1/query"], ["POST", "v1/compile"], ["POST", "v1/batch/data"], ["POST", ""],
		["POST", "health"], ["POST", "v1/data/bridge_view"],
	} {
		not _decide(request[0], request[1])
	}
}

test_trace_is_not_shown if {
	not edge.allow.allowed with input as {
		"method": "POST",
		"path": ["v1", "data", "bridge", "v1", "effective"],
		"params": {"explain": ["full"]},
	}
}

test_denial_has_a_reason if contains(edge.allow.reason, "/v1/data/bridge/") with input as {"method": "GET", "path": ["v1", "config"]}
