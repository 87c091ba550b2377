package edge_test

import data.edge

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_web := concat("", [_gateway, "#web"])

_answers := {
	"kinds": {"active": ["example.com/A", "example.com/B"], "in_use": ["example.com/A"]},
	"targets": {_gateway: [[_web, "example.com/A"], [_web, "example.com/B"]], _web: [[_web, "example.com/A"]], "core/Service/shop/cart": []},
	"rows": {_web: {"example.com/A": [1], "example.com/B": [2]}},
	"entries": {_gateway: {"default": {"*": []}, "HTTP": {"*": []}}},
}

_asked(query, query_input) := found if {
	query == "effective"
	found := edge.effective with input as query_input
		with data.bridge.table as _answers
		with data.bridge_view as {"name": "v"}
}

_asked(query, query_input) := found if {
	query == "request"
	found := edge.request with input as query_input
		with data.bridge.table as _answers
		with data.bridge_view as {"name": "v"}
}

test_effective_looks_up_targets_and_those_below if {
	_asked("effective", {"targets": [_web]}) == [{"target": _web, "policyKind": "example.com/A", "paths": [1]}]
	[one.paths | some one in _asked("effective", {"targets": [_gateway, _web]})] == [[1], [2]]
	[one.paths | some one in _asked("effective", {"targets": [_gateway], "policyKind": "example.com/B"})] == [[2]]
	_asked("effective", {"targets": ["core/Service/shop/cart"]}) == []
}

test_an_unanswerable_query_is_an_error_with_its_reason if {
	_asked("effective", {"targets": ["core/Service/shop/x"]}).error.code == "NotInView"
	_asked("effective", {"targets": ["x"]}).error.code == "InvalidInput"
	_asked("effective", {"targets": 1}).error.code == "InvalidInput"
	_asked("effective", {}).error.code == "InvalidInput"
	_asked("effective", {"targets": [_web], "policyKind": "x"}).error.code == "UnknownPolicyKind"
	_asked("effective", {"targets": [_web], "changes": {}}).error == {
		"code": "NeedsObjects",
		"message": "`changes` needs a view with content objects: v has content effective",
	}
	_asked("request", {"host": "a", "gateway": "core/Service/shop/cart@frontend"}).error.code == "NeedsObjects"
	_asked("request", {"host": "a", "gateway": "core/Service/shop/cart"}).error.code == "InvalidInput"
	_asked("request", {"host": "a", "gateway": "gateway.networking.k8s.io/Gateway/infra/x"}).error.code == "NotInView"
	_asked("request", {"host": "a/b"}).error.code == "InvalidInput"
	_asked("request", {"host": "a", "hosts": "b"}).error.message == "the input has an unknown field, hosts; did you mean \"host\"?"
	_asked("effective", {"targets": [_web], "target": _web}).error.message == "the input has an unknown field, target; did you mean \"targets\"?"
	edge.request.error.code == "NotInView" with input as {"host": "a"}
		with data.bridge.table as {"kinds": {"active": [], "in_use": []}, "entries": {}}
		with data.bridge_view as {"name": "v"}
	for_clients := ["explain", "impact", "problems", "status", "tree"]
	for_commands := ["constraints", "kinds_in_force", "policies", "refused_policykinds", "resource_versions", "scopes", "types"]
	codes := {edge[query].error.code | some query in array.concat(for_clients, for_commands)} with data.bridge_view as {"name": "v"}
	codes == {"NeedsObjects"}
}

test_request_that_no_listener_accepts_is_answered if {
	_asked("request", {"host": "shop.example.com", "path": "/exact", "gateway": _gateway}).nearest.reason == "NoListener"
	_asked("request", {"host": "shop.example.com", "headers": {}}).nearest.reason == "NoListener"
	_asked("request", {"gateway": _gateway, "host": "shop.example.com", "grpc": {"service": "a", "method": "b"}, "path": "relative"}).error.code == "InvalidInput"
}
