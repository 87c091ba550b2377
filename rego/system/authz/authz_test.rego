package system.authz_test

import data.system.authz

_tokens := {crypto.sha256("token-of-the-bridge"): "bridge", crypto.sha256("token-of-a-reader"): "reader"}

_decide(request) := decision if {
	decision := authz.allow with input as request with data.system.policy_bridge.tokens as _tokens
}

_ask(token, method, path) := _decide({
	"identity": token,
	"method": method,
	"path": split(path, "/"),
	"params": {},
})

_reader(method, path) := _ask("token-of-a-reader", method, path).allowed

test_a_reader_asks_queries if {
	_reader("POST", "v1/data/bridge/v1/effective")
	_reader("GET", "v1/data/bridge/v1/scopes")
	_reader("GET", "v1/data/bridge/v1/kinds_in_force/example.com/spec")
}

test_a_reader_writes_nothing if {
	every method in ["PUT", "PATCH", "DELETE"] {
		not _reader(method, "v1/data/bridge/v1/effective")
		not _reader(method, "v1/data/objects")
		not _reader(method, "v1/policies/mine")
	}
}

test_a_reader_reads_nothing_else if {
	every path in [
		"", "v1/data", "v1/data/bridge", "v1/data/bridge/v1", "v1/data/bridge/v1/", "v1/data/bridge/v1/_private",
		"v1/data/bridge/v1/..", "v1/data/bridge/v1/../../objects", "v1/data/objects", "v1/data/system/policy_bridge",
		"v0/data/bridge/v1/effective", "/v1/data/bridge/v1/effective", "v1/query", "v1/compile", "v1/config",
		"v1/policies", "v1/status", "metrics", "v1/data/bridge/v1/Effective", "v1/data/bridge/status/policy",
	] {
		not _reader("GET", path)
		not _reader("POST", path)
	}
}

test_a_reader_gets_no_trace if {
	request := {
		"identity": "token-of-a-reader",
		"method": "POST",
		"path": ["v1", "data", "bridge", "v1", "effective"],
	}
	_decide(object.union(request, {"params": {"metrics": [""], "provenance": ["true"]}})).allowed
	not _decide(object.union(request, {"params": {"explain": ["full"]}})).allowed
}

test_the_bridge_may_do_anything if {
	every method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
		_ask("token-of-the-bridge", method, "v1/data/objects").allowed
	}
}

test_health_is_for_all if {
	_decide({"method": "GET", "path": ["health"], "params": {"bundles": [""]}}).allowed
	not _decide({"method": "POST", "path": ["health"], "params": {}}).allowed
	not _decide({"method": "GET", "path": ["health", "live"], "params": {}}).allowed
}

test_the_reason_names_the_missing_object if {
	_decide({"method": "GET", "path": ["v1", "data"], "params": {}}).reason == "send a token: Authorization: Bearer TOKEN"
	_ask("token-of-nobody", "GET", "v1/data").reason == "unknown token"
	contains(_ask("token-of-a-reader", "GET", "v1/data").reason, "/v1/data/bridge/v1/QUERY")
}

test_no_client_gets_in_before_the_tokens_are_there if {
	request := {"identity": "token-of-the-bridge", "method": "GET", "path": ["v1", "data"], "params": {}}
	decision := authz.allow with input as request with data.system.policy_bridge as {}
	decision == {"allowed": false, "reason": "the bridge has not provided tokens yet"}
}

test_a_role_that_is_unknown_may_do_nothing if {
	request := {
		"identity": "token-of-the-bridge",
		"method": "GET",
		"path": ["v1", "data", "bridge", "v1", "effective"],
		"params": {},
	}
	decision := authz.allow with input as request
		with data.system.policy_bridge.tokens as {crypto.sha256("token-of-the-bridge"): "page"}
	not decision.allowed
}
