package bridge.proxies_test

import data.bridge.proxies
import data.bridge.testing

_pay := "httproute/shop/cart/rule/0/match/0/all"

_answer(status, flags, details) := {"route": _pay, "status": status, "flags": flags, "details": details}

_explained(policies, answer) := explanation if {
	query := object.union(testing.changed(array.concat(_kinds, policies)), {"answers": [answer]})
	[explanation] := proxies.explanations with input as query
}

_all_traffic := _traffic("limits", {
	"rateLimit": {"local": {"rules": []}, "global": {"rules": []}},
	"timeout": {"http": {"requestTimeout": "15s", "maxStreamDuration": "60s", "streamIdleTimeout": "30s"}},
	"retry": {"perRetry": {"timeout": "1s"}},
	"circuitBreaker": {"maxConnections": 10},
	"faultInjection": {"abort": {"percentage": 5}},
	"requestBuffer": {"limit": "1Mi"},
})

_all_security := _security("gate", {
	"jwt": {"providers": []},
	"authorization": {"defaultAction": "Deny"},
	"extAuth": {"failOpen": false},
	"basicAuth": {"users": {"name": "users"}},
	"apiKeyAuth": {"extractFrom": []},
})

test_answer_is_explained_by_the_field_that_makes_it if {
	every example in [
		[429, "RL", "local_rate_limited", _btp, "/rateLimit/local"],
		[429, "RL", "request_rate_limited", _btp, "/rateLimit/global"],
		[429, "RL", "", _btp, "/rateLimit"],
		[401, "", "jwt_authn_access_denied{Jwt_is_missing}", _sp, "/jwt"],
		[403, "", "jwt_authn_access_denied{Audiences_in_Jwt_are_not_allowed}", _sp, "/jwt"],
		[403, "", "rbac_access_denied_matched_policy[none]", _sp, "/authorization"],
		[403, "UAEX", "ext_authz_denied", _sp, "/extAuth"],
		[503, "DC,UAEX", "", _sp, "/extAuth"],
		[401, "", "no_credential_found_for_basic_auth", _sp, "/basicAuth"],
		[401, "", "api_key_auth_missing", _sp, "/apiKeyAuth"],
		[504, "UT", "upstream_per_try_timeout", _btp, "/retry/perRetry/timeout"],
		[504, "UT", "response_timeout", _btp, "/timeout/http/requestTimeout"],
		[504, "UMSDR", "max_duration_timeout", _btp, "/timeout/http/maxStreamDuration"],
		[408, "SI", "stream_idle_timeout", _btp, "/timeout/http/streamIdleTimeout"],
		[503, "UO", "overflow", _btp, "/circuitBreaker"],
		[500, "FI", "fault_filter_abort", _btp, "/faultInjection/abort"],
		[413, "", "request_payload_too_large", _btp, "/requestBuffer"],
	] {
		[status, flags, details, kind, field] := example
		found := _explained([_all_traffic, _all_security], _answer(status, flags, details))
		[found.rule, found.known, found.message] == [testing.cart_pay, true, ""]
		[[one.policyKind, one.field] | some one in found.fields] == [[kind, field]]
	}
}

test_grpc_call_that_the_proxy_answers_with_200_is_explained_by_flags_and_details if {
	every example in [
		["RL", "local_rate_limited", "/rateLimit/local"],
		["RL", "", "/rateLimit"],
		["UAEX", "ext_authz_denied", "/extAuth"],
		["-", "jwt_authn_access_denied{Jwt_is_missing}", "/jwt"],
		["", "rbac_access_denied_matched_policy[none]", "/authorization"],
		["UT", "response_timeout", "/timeout/http/requestTimeout"],
		["DC,UO", "", "/circuitBreaker"],
		["FI", "fault_filter_abort", "/faultInjection/abort"],
	] {
		[flags, details, field] := example
		found := _explained([_all_traffic, _all_security], _answer(200, flags, details))
		[found.known, [one.field | some one in found.fields]] == [true, [field]]
	}
	_explained([], {"route": "grpcroute/shop/rpc/rule/0/match/0/all", "status": 200, "flags": "", "details": "direct_response"}).known
	found := _explained([_all_traffic], _answer(200, "UC", "upstream_reset_after_response_started{connection_termination}"))
	not found.known
}

test_answer_below_400_without_a_flag_of_an_error_has_no_explanation if {
	every example in [
		[200, "", "via_upstream"],
		[200, "-", ""],
		[101, "DC", "via_upstream"],
		[200, "DI", "via_upstream"],
		[302, "", "direct_response"],
		[200, "", "direct_response"],
	] {
		[status, flags, details] := example
		_explained([_all_traffic, _all_security], _answer(status, flags, details)) == null
	}
	_explained([_all_traffic], _answer(0, "DC", "downstream_remote_disconnect")) != null
}

test_explanation_has_the_value_and_the_policies_that_set_it if {
	found := _explained([_timeout("15s")], _answer(504, "UT", "response_timeout"))
	found.fields == [{
		"policyKind": _btp,
		"path": testing.cart_pay_path,
		"field": "/timeout/http/requestTimeout",
		"value": "15s",
		"policies": [_limits],
	}]
}

test_answer_of_the_backend_and_one_without_a_rule_are_no_matter_of_policies if {
	_explained([_all_traffic], _answer(503, "", "via_upstream")) == {
		"rule": testing.cart_pay,
		"known": true,
		"fields": [],
		"message": "the backend sent this response",
	}
	_explained([], {"route": "", "status": 404, "flags": "NR", "details": "route_not_found"}) == {
		"rule": null,
		"known": true,
		"fields": [],
		"message": "no rule serves the request",
	}
}

test_cause_without_a_policy_in_effect_is_unknown if {
	_explained([_timeout("15s")], _answer(403, "UAEX", "ext_authz_denied")) == {
		"rule": testing.cart_pay,
		"known": false,
		"fields": [],
		"message": "no policy in effect at the rule sets AuthPolicy or SecurityPolicy /extAuth: compare the proxy with `pbctl verify`",
	}
}

test_fault_that_only_delays_explains_no_aborted_request if {
	delays := _traffic("limits", {"faultInjection": {"delay": {"fixedDelay": "5ms"}}})
	_explained([delays], _answer(503, "FI", "fault_filter_abort")).known == false
}

test_answer_without_a_known_cause_is_unknown if {
	every answer in [_answer(429, "", ""), _answer(503, "UC", "upstream_reset"), _answer(0, "DC", "downstream_remote_disconnect")] {
		found := _explained([_all_traffic, _all_security], answer)
		[found.rule, found.known, found.fields] == [testing.cart_pay, false, []]
		found.message == "no known cause has this status with these flags and details"
	}
}

test_route_that_is_not_of_a_rule_is_unknown if {
	every name in ["default", "httproute/shop/cart/rule/9/match/0/all", "grpcroute/shop/cart/rule/0/match/0/all"] {
		_explained([_timeout("15s")], object.union(_answer(504, "UT", "response_timeout"), {"route": name})) == {
			"rule": null,
			"known": false,
			"fields": [],
			"message": "no rule has the name of the proxy's route",
		}
	}
}

test_only_the_policy_that_denied_is_blamed_if_the_proxy_names_it if {
	kind := object.union(_kind_of("AuthorizationPolicy", {"defaultStrategy": "Additive"}), {"spec": {"group": "security.istio.io"}})
	policies := [testing.created(
		testing.with_spec(
			testing.resource("security.istio.io/v1", "AuthorizationPolicy", "shop", name),
			{"targetRefs": [testing.ref("HTTPRoute", "cart")], "action": name},
		),
		1,
	) |
		some name in ["one", "two"]
	]
	blamed := {details: {policy | some one in found.fields; some policy in one.policies} |
		some details in ["rbac_access_denied_matched_policy[ns[shop]-policy[two]-rule[0]]", "rbac_access_denied_matched_policy[none]"]
		found := _explained(array.concat([kind], policies), _answer(403, "", details))
	}
	blamed == {
		"rbac_access_denied_matched_policy[ns[shop]-policy[two]-rule[0]]": {"security.istio.io/AuthorizationPolicy/shop/two"},
		"rbac_access_denied_matched_policy[none]": {"security.istio.io/AuthorizationPolicy/shop/one", "security.istio.io/AuthorizationPolicy/shop/two"},
	}
}

test_policy_that_istio_names_explains_a_denied_request_of_an_unknown_rule if {
	policy := testing.with_spec(testing.resource("security.istio.io/v1", "AuthorizationPolicy", "shop", "two"), {"action": "DENY"})
	answer := {"route": "cart", "status": 403, "flags": "", "details": "rbac_access_denied_matched_policy[ns[shop]-policy[two]-rule[0]]"}
	[found] := proxies.explanations with input as object.union(testing.changed([policy]), {"answers": [answer]})
	found.known
	[found.fields[0].policies, found.fields[0].value] == [["security.istio.io/AuthorizationPolicy/shop/two"], {"action": "DENY"}]
	[other] := proxies.explanations with input as object.union(testing.changed([]), {"answers": [answer]})
	not other.known
}

test_500_of_a_proxy_itself_is_explained_by_the_policies_that_are_rejected if {
	accepted := {"type": "Accepted", "status": "False", "reason": "Invalid", "message": "ExtAuth: service shop/nowhere not found."}
	status := {"ancestors": [{"ancestorRef": {"namespace": "infra", "name": "public"}, "controllerName": "gateway.envoyproxy.io/gatewayclass-controller", "conditions": [accepted]}]}
	rejected := object.union(_all_security, {"status": status})
	found := _explained([rejected, _all_traffic], _answer(500, "-", "direct_response"))
	[[one.policyKind, one.policies] | some one in found.fields] == [[_sp, [sprintf("%s/shop/gate", [_sp])]]]
	found.rule == testing.cart_pay
	other := _explained([_all_security], _answer(500, "-", "direct_response"))
	[other.known, other.fields] == [true, []]
	contains(other.message, "cannot use a policy or a backend of the rule")
}

test_the_rejected_policy_is_the_reason_whatever_kind_the_query_asks_for if {
	accepted := {"type": "Accepted", "status": "False", "reason": "Invalid", "message": "no such service"}
	status := {"ancestors": [{"ancestorRef": {"namespace": "infra", "name": "public"}, "controllerName": "gateway.envoyproxy.io/gatewayclass-controller", "conditions": [accepted]}]}
	changes := testing.changed(array.concat(_kinds, [object.union(_all_security, {"status": status}), _all_traffic]))
	every asked in [{}, {"policyKind": _btp}] {
		messages := proxies.rejections(testing.cart_pay) with input as object.union(changes, asked)
		messages == {"Envoy Gateway rejects SecurityPolicy/shop/gate, so its proxies answer 500 themselves: no such service"}
		[found] := proxies.explanations with input as object.union_n([changes, asked, {"answers": [_answer(500, "-", "direct_response")]}])
		[one.policyKind | some one in found.fields] == [_sp]
	}
}
