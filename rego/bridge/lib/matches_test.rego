package bridge.lib.matches_test

import data.bridge.lib.matches

_http(outer, inner) if matches.takes_all("gateway.networking.k8s.io/HTTPRoute", outer, inner)

_grpc(outer, inner) if matches.takes_all("gateway.networking.k8s.io/GRPCRoute", outer, inner)

_path(type, value) := {"path": {"type": type, "value": value}}

_with(match, name, value) := object.union(match, {"headers": [{"name": name, "value": value}]})

test_a_match_with_more_conditions_takes_no_further_requests if {
	every match in [_path("Exact", "/pay"), _path("PathPrefix", "/pay"), _path("RegularExpression", "/pay.*"), {}] {
		_http(match, match)
		_http(match, object.union(match, {"method": "POST"}))
		_http(match, _with(match, "x", "1"))
		_http(_with(match, "X", "1"), _with(match, "x", "1"))
		_http(_with(match, "x", "1"), object.union(match, {"headers": [{"name": "y", "value": "2"}, {"name": "x", "type": "Exact", "value": "1"}]}))
		not _http(object.union(match, {"method": "POST"}), match)
		not _http(object.union(match, {"method": "POST"}), object.union(match, {"method": "GET"}))
		not _http(_with(match, "x", "1"), match)
		not _http(_with(match, "x", "1"), _with(match, "x", "2"))
		not _http(_with(match, "x", "1"), object.union(match, {"queryParams": [{"name": "x", "value": "1"}]}))
	}
}

test_a_prefix_takes_what_is_below_it_by_whole_elements if {
	every inner in [_path("PathPrefix", "/pay/"), _path("PathPrefix", "/pay/a"), _path("Exact", "/pay"), _path("Exact", "/pay/")] {
		_http(_path("PathPrefix", "/pay"), inner)
		_http({}, inner)
	}
	every inner in [_path("PathPrefix", "/payer"), _path("PathPrefix", "/"), _path("RegularExpression", "/pay/a"), {}] {
		not _http(_path("PathPrefix", "/pay"), inner)
		not _http(_path("Exact", "/pay"), inner)
	}
	not _http(_path("Exact", "/pay"), _path("PathPrefix", "/pay"))
	not _http(_path("Exact", "/pay"), _path("Exact", "/pay/a"))
	not _http(_path("RegularExpression", "/a|/b"), _path("Exact", "/a"))
	_http({}, _path("RegularExpression", "/a"))
}

test_a_service_takes_the_calls_of_its_methods if {
	service := {"method": {"service": "s"}}
	call := {"method": {"service": "s", "method": "m"}}
	_grpc({}, call)
	_grpc(service, call)
	_grpc(call, object.union(call, {"method": {"type": "Exact"}}))
	_grpc(call, _with(call, "x", "1"))
	not _grpc(call, service)
	not _grpc(service, {"method": {"service": "t", "method": "m"}})
	not _grpc(service, {})
	not _grpc(service, {"method": {"type": "RegularExpression", "service": "s"}})
}
