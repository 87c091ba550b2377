package bridge.proxies_test

import data.bridge.effective
import data.bridge.proxies
import data.bridge.testing

_group := "gateway.envoyproxy.io"

_btp := "gateway.envoyproxy.io/BackendTrafficPolicy"

_sp := "gateway.envoyproxy.io/SecurityPolicy"

_ctp := "gateway.envoyproxy.io/ClientTrafficPolicy"

_gateway := "gateway.networking.k8s.io/Gateway/infra/public"

_kind_of(kind, fields) := testing.policykind(object.union(
	{
		"group": _group,
		"kind": kind,
		"class": "Inherited",
		"targets": [
			{"group": testing.gateway_group, "kind": "Gateway", "sections": true},
			{"group": testing.gateway_group, "kind": "HTTPRoute", "sections": true},
		],
		"effectiveTarget": "Rule",
		"crossNamespace": "Forbidden",
		"specPaths": [{"path": "/spec"}],
		"defaultStrategy": "PatchDefaults",
	},
	fields,
))

_kinds := [
	_kind_of("BackendTrafficPolicy", {}),
	_kind_of("SecurityPolicy", {}),
	_kind_of("ClientTrafficPolicy", {"effectiveTarget": "Listener"}),
]

_policy(kind, name, spec) := testing.created(
	testing.with_spec(
		testing.resource("gateway.envoyproxy.io/v1alpha1", kind, "shop", name),
		object.union({"targetRefs": [testing.ref("HTTPRoute", "cart")]}, spec),
	),
	30,
)

_traffic(name, spec) := _policy("BackendTrafficPolicy", name, spec)

_security(name, spec) := _policy("SecurityPolicy", name, spec)

_client(spec) := testing.with_spec(
	testing.resource("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy", "infra", "clients"),
	object.union({"targetRefs": [testing.ref("Gateway", "public")]}, spec),
)

# What is known of a target in a proxy that has everything else.
_family(kind, values) := {"vendor": "Envoy Gateway", "names": [], "beside": [], "serving": "there", "values": [{kind: values}], "lacks": false, "requires": {}, "updated": ""}

# The input of a query about a target with policies, in one proxy with these families of facts.
_asked(node, policies, families) := object.union(testing.changed(array.concat(_kinds, policies)), {
	"targets": [node],
	"proxies": {"edge": {"vendors": ["Envoy Gateway"], "covers": [_gateway], "sections": ["clusters", "listeners", "routes"]}},
	"covered": {_gateway: ["edge"]},
	"found": {node: [{"proxy": "edge", "via": testing.listener_http, "family": number} | some number, _ in families]},
	"families": families,
	"everything": true,
})

_compared(query) := answer if {
	answer := proxies.comparison with input as query
}

_states(query) := {row.field: row.state | some row in _compared(query).rows}

_row(query) := row if {
	[row] := _compared(query).rows
}

# The state of the only field of a policy, whose values in the proxy are these.
_state_of(policy, kind, values) := states[pointer] if {
	some pointer, _ in values
	states := _states(_asked(testing.cart_pay, [policy], [_family(kind, values)]))
}

_timeout(text) := _traffic("limits", {"timeout": {"http": {"requestTimeout": text}}})

_limits := "gateway.envoyproxy.io/BackendTrafficPolicy/shop/limits"

test_verdict_has_both_values_and_the_policies if {
	_compared(_asked(testing.cart_pay, [_timeout("15s")], [_family(_btp, {"/timeout/http/requestTimeout": "15s"})])) == {
		"rows": [{
			"target": testing.cart_pay,
			"policyKind": _btp,
			"path": testing.cart_pay_path,
			"proxy": "edge",
			"field": "/timeout/http/requestTimeout",
			"expected": "15s",
			"actual": "15s",
			"policies": [_limits],
			"state": "verified",
			"message": "",
		}],
		"counts": {"verified": 1},
		"differences": ["missing in the proxy", "differs", "stale"],
	}
}

test_duration_is_the_same_in_other_units if {
	every actual, state in {"900s": "verified", "0.25h": "verified", "901s": "differs"} {
		_state_of(_timeout("15m"), _btp, {"/timeout/http/requestTimeout": actual}) == state
	}
	_state_of(_timeout("15m"), _btp, {"/timeout/http/requestTimeout": null}) == "missing in the proxy"
}

test_number_is_the_same_as_text if {
	policy := _traffic("limits", {"circuitBreaker": {"maxConnections": 100}})
	_state_of(policy, _btp, {"/circuitBreaker/maxConnections": "100"}) == "verified"
	_state_of(policy, _btp, {"/circuitBreaker/maxConnections": 10}) == "differs"
}

test_set_is_the_same_in_another_order if {
	policy := _traffic("limits", {"retry": {"retryOn": {"triggers": ["reset", "5xx"]}}})
	_state_of(policy, _btp, {"/retry/retryOn/triggers": ["5xx", "reset"]}) == "verified"
	_state_of(policy, _btp, {"/retry/retryOn/triggers": ["5xx"]}) == "differs"
	_state_of(policy, _btp, {"/retry/retryOn/triggers": []}) == "missing in the proxy"
}

test_items_without_an_order_are_the_same_in_another_one if {
	rules := [{"limit": {"requests": 5, "unit": "Minute"}}, {"limit": {"requests": 1, "unit": "Second"}}]
	policy := _traffic("limits", {"rateLimit": {"local": {"rules": rules}}})
	_state_of(policy, _btp, {"/rateLimit/local/rules": [rules[1], rules[0]]}) == "verified"
	_state_of(policy, _btp, {"/rateLimit/local/rules": [rules[1]]}) == "differs"
	_state_of(policy, _btp, {"/rateLimit/local/rules": null}) == "missing in the proxy"
}

test_value_that_is_false_is_not_missing if {
	policy := _security("browsers", {"cors": {"allowCredentials": false}})
	_state_of(policy, _sp, {"/cors/allowCredentials": false}) == "verified"
	_state_of(policy, _sp, {"/cors/allowCredentials": true}) == "differs"
}

test_values_of_connections_are_compared_at_the_listener if {
	policy := _client({"connection": {"bufferLimit": "32Ki"}, "tls": {"ciphers": ["A", "B"]}})
	same := {"/connection/bufferLimit": 32768, "/tls/ciphers": ["A", "B"]}
	_states(_asked(testing.listener_http, [policy], [_family(_ctp, same)])) == {
		"/connection/bufferLimit": "verified",
		"/tls/ciphers": "verified",
	}
	other := {"/connection/bufferLimit": 65536, "/tls/ciphers": ["B", "A"]}
	_states(_asked(testing.listener_http, [policy], [_family(_ctp, other)])) == {
		"/connection/bufferLimit": "differs",
		"/tls/ciphers": "differs",
	}
}

test_items_that_are_read_in_part_are_not_verified if {
	policy := _security("users", {"jwt": {"providers": [{"name": "idp", "issuer": "https://idp", "recomputeRoute": true}]}})
	query := _asked(testing.cart_pay, [policy], [_family(_sp, {"/jwt": true, "/jwt/optional": false, "/jwt/providers": [{"name": "idp", "issuer": "https://idp"}]})])
	_row(query).state == "cannot be read"
	_row(query).message == "name, issuer, audiences agree; recomputeRoute cannot be read"
	_state_of(policy, _sp, {"/jwt/providers": [{"name": "idp", "issuer": "https://other"}]}) == "differs"
}

test_filter_that_is_there_does_not_verify_its_fields if {
	policy := _traffic("limits", {"faultInjection": {"abort": {"percentage": 5}}})
	query := _asked(testing.cart_pay, [policy], [_family(_btp, {"/faultInjection": true})])
	_row(query).field == "/faultInjection/abort/percentage"
	_row(query).state == "cannot be read"
	_row(query).message == "the proxy has /faultInjection, but Policy Bridge doesn't compare this field in proxies of Envoy Gateway"
}

test_field_that_a_service_beside_the_proxy_has_cannot_be_read if {
	policy := _traffic("limits", {"rateLimit": {"global": {"rules": [{"limit": {"requests": 5, "unit": "Minute"}}]}}})
	query := _asked(testing.cart_pay, [policy], [_family(_btp, {"/rateLimit/global": true})])
	[_row(query).field, _row(query).state, _row(query).message] == [
		"/rateLimit/global/rules",
		"cannot be read",
		"the rate limit service has the limits, not the proxy",
	]
	_states(_asked(testing.cart_pay, [policy], [_family(_btp, {"/rateLimit/global": null})])) == {"/rateLimit/global": "missing in the proxy"}
}

test_part_without_a_filter_is_missing_as_a_whole if {
	policy := _traffic("limits", {"faultInjection": {"abort": {"percentage": 5}}})
	_states(_asked(testing.cart_pay, [policy], [_family(_btp, {"/faultInjection": null})])) == {"/faultInjection": "missing in the proxy"}
}

test_field_that_no_rule_reads_cannot_be_read if {
	query := _asked(testing.cart_pay, [_traffic("limits", {"useClientProtocol": true})], [_family(_btp, {})])
	_row(query).state == "cannot be read"
	_row(query).message == "Policy Bridge doesn't read this field from proxies of Envoy Gateway"
	_row(query).expected == true
}

test_filter_of_a_route_needs_that_of_its_listener if {
	policy := _traffic("limits", {"rateLimit": {"local": {"rules": [{"limit": {"requests": 5, "unit": "Minute"}}]}}})
	rules := {"/rateLimit/local/rules": [{"limit": {"requests": 5, "unit": "Minute"}}], "/rateLimit/local": true}
	found := {needed: [row.state, row.message] |
		some needed in ["there", "missing", "unknown"]
		family := object.union(_family(_btp, rules), {"requires": {_btp: {"/rateLimit/local": needed}}})
		some row in _compared(_asked(testing.cart_pay, [policy], [family])).rows
		row.field == "/rateLimit/local/rules"
	}
	found == {
		"there": ["verified", ""],
		"missing": ["missing in the proxy", "its filter is not in the listener"],
		"unknown": ["cannot be read", "the dump has no listeners"],
	}
}

test_value_that_a_part_of_the_proxy_has_in_another_form_cannot_be_read if {
	family := object.union(_family(_btp, {}), {"values": [{_btp: {"/timeout/http/requestTimeout": value}} | some value in ["15s", {"unread": true}]]})
	row := _row(_asked(testing.cart_pay, [_timeout("15s")], [family]))
	[row.state, row.message] == ["cannot be read", "the proxy has it in a form that Policy Bridge doesn't recognize"]
}

test_value_that_the_dump_does_not_state_cannot_be_read if {
	policy := _traffic("limits", {"timeout": {"tcp": {"connectTimeout": "3s"}}})
	whole := _asked(testing.cart_pay, [policy], [_family(_btp, {})])
	_row(whole).state == "cannot be read"
	_row(whole).message == "the proxy does not state it"
	lacking := _asked(testing.cart_pay, [policy], [object.union(_family(_btp, {}), {"lacks": true})])
	_row(lacking).state == "cannot be read"
	_row(lacking).message == "the dump lacks a part that the route refers to"
}

test_worst_of_the_routes_of_a_rule_counts if {
	values := ["15s", "16s"]
	families := [_family(_btp, {"/timeout/http/requestTimeout": value}) | some value in values]
	query := _asked(testing.cart_pay, [_timeout("15s")], families)
	_row(query).state == "differs"
	_row(query).actual == "16s"
}

_named(names) := object.union(_family(_btp, {"/timeout/http/requestTimeout": "15s"}), {"names": [{_btp: names}]})

_name_state(names) := _states(_asked(testing.cart_pay, [_timeout("15s")], [_named(names)]))["(policy)"]

test_policy_that_a_proxy_names_is_that_in_effect if {
	_name_state([_limits]) == "verified"
	_name_state([]) == "missing in the proxy"
	_name_state(["gateway.envoyproxy.io/BackendTrafficPolicy/shop/former"]) == "differs"
	_name_state([_limits, "gateway.envoyproxy.io/BackendTrafficPolicy/shop/former"]) == "differs"
}

test_configuration_older_than_a_policy_is_stale if {
	values := {"/timeout/http/requestTimeout": "1s"}
	old := object.union(_family(_btp, values), {"updated": "2026-01-01T00:10:00Z"})
	query := _asked(testing.cart_pay, [_timeout("15s")], [old])
	_row(query).state == "stale"
	_row(query).message == "the proxy's configuration is of 2026-01-01T00:10:00Z, older than BackendTrafficPolicy/shop/limits"
	newer := object.union(_family(_btp, values), {"updated": "2026-01-01T00:40:00Z"})
	_row(_asked(testing.cart_pay, [_timeout("15s")], [newer])).state == "differs"
	same := object.union(_family(_btp, {"/timeout/http/requestTimeout": "15s"}), {"updated": "2026-01-01T00:10:00Z"})
	_row(_asked(testing.cart_pay, [_timeout("15s")], [same])).state == "verified"
}

test_difference_from_an_uncertain_policy_says_so if {
	doubt := _kind_of("BackendTrafficPolicy", {"notModeled": [{"path": "/spec/timeout", "message": "timeouts add up"}]})
	query := _asked(testing.cart_pay, [_timeout("15s")], [_family(_btp, {"/timeout/http/requestTimeout": "1s"})])
	changed := {"changes": {"upsert": array.concat(testing.world, [doubt, _timeout("15s")])}}
	row := _row(object.union(query, changed))
	row.state == "differs"
	row.message == "uncertain: BackendTrafficPolicy/shop/limits: timeouts add up"
}

# The state and the message of the only row about a target with a policy.
_alone(query) := [row.field, row.state, row.message] if {
	row := _row(query)
}

test_target_of_no_dump_is_not_known if {
	query := _asked(testing.cart_pay, [_timeout("15s")], [])
	_alone(object.union(object.remove(query, ["covered"]), {"covered": {}})) == [
		"",
		"not known",
		"none of these dumps is of a proxy for this target",
	]
}

test_kind_that_no_rules_read_is_not_known if {
	color := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	_alone(_asked(testing.cart_pay, [color], [])) == ["", "not known", "Policy Bridge can't read ColorPolicy from proxies of Envoy Gateway"]
}

test_rule_that_the_proxy_lacks_is_missing if {
	query := _asked(testing.cart_pay, [_timeout("15s")], [])
	_alone(query) == ["", "missing in the proxy", "the proxy has no configuration for this target"]
	_row(query).policies == [_limits]
}

test_dump_without_a_section_proves_nothing_about_it if {
	query := _asked(testing.cart_pay, [_timeout("15s")], [])
	edge := object.union(query.proxies.edge, {"sections": ["clusters"]})
	_alone(object.union(query, {"proxies": {"edge": edge}})) == ["", "cannot be read", "the dump has no routes"]
	client := _asked(testing.listener_http, [_client({"timeout": {"http": {"idleTimeout": "5s"}}})], [])
	_alone(object.union(client, {"proxies": {"edge": edge}})) == ["", "cannot be read", "the dump has no listeners"]
	_alone(client) == ["", "cannot be read", "the dump has no virtual host of this listener"]
}

test_route_of_an_unknown_listener_cannot_be_read if {
	query := _asked(testing.cart_pay, [_timeout("15s")], [_family(_btp, {"/timeout/http/requestTimeout": "15s"})])
	found := {testing.cart_pay: [{"proxy": "edge", "via": "", "family": 0}]}
	_alone(object.union(query, {"found": found})) == ["", "cannot be read", "the dump does not state the listener of this target"]
}

test_effective_policy_above_a_bound_is_not_compared if {
	query := _asked(testing.cart_pay, [_timeout("15s")], [_family(_btp, {"/timeout/http/requestTimeout": "15s"})])
	attached := [{"policy": _limits, "target": testing.cart_route} | some _ in numbers.range(0, effective.stack_bound)]
	found := proxies.comparison with input as query
		with effective.stacks as [[testing.cart_pay_path, attached]]
	[[row.state, row.message] | some row in found.rows; row.policyKind == _btp] == [[
		"cannot be read",
		"the effective policy is not known: 513 policies meet here; at most 512 can be merged",
	]]
}

test_without_everything_only_open_rows_are_listed_and_all_are_counted if {
	policy := _traffic("limits", {"timeout": {"http": {"requestTimeout": "15s", "streamIdleTimeout": "5s"}}, "useClientProtocol": true})
	values := {"/timeout/http/requestTimeout": "15s", "/timeout/http/streamIdleTimeout": "1s"}
	query := object.union(_asked(testing.cart_pay, [policy], [_family(_btp, values)]), {"everything": false})
	_states(query) == {"/timeout/http/streamIdleTimeout": "differs"}
	_compared(query).counts == {"verified": 1, "differs": 1, "cannot be read": 1}
}

test_policy_of_the_proxy_that_is_not_in_effect_is_a_difference if {
	query := _asked(testing.cart_pay, [], [_named([_limits])])
	row := _row(query)
	[row.field, row.state, row.message, row.actual, row.path] == [
		"(policy)",
		"differs",
		"no policy of this kind is in effect here",
		[_limits],
		[testing.listener_http],
	]
	_compared(query).counts == {"differs": 1}
	_compared(_asked(testing.cart_pay, [], [_named([])])).rows == []
}

test_part_of_the_proxy_that_no_policy_sets_is_a_difference if {
	family := _family(_btp, {"/faultInjection": true})
	every policies in [[], [_timeout("15s")]] {
		rows := [row | some row in _compared(_asked(testing.cart_pay, policies, [family])).rows; row.field == "/faultInjection"]
		[[row.state, row.message, row.path] | some row in rows] == [["differs", "no policy in effect sets it", [testing.listener_http]]]
	}
	every other in [{"serving": "missing"}, {"unknown": ["a filter"]}, {"requires": {_btp: {"/faultInjection": "missing"}}}] {
		_compared(_asked(testing.cart_pay, [], [object.union(family, other)])).rows == []
	}
	_compared(_asked(testing.cart_pay, [], [_family(_btp, {"/faultInjection": null})])).rows == []
}

test_policies_that_the_user_may_not_read_may_set_what_the_proxy_has if {
	named := _asked(testing.cart_pay, [], [_named(["BackendTrafficPolicy/infra/all"])])
	part := _asked(testing.cart_pay, [], [_family(_btp, {"/faultInjection": true})])
	every query in [named, part] {
		_compared(query).rows != []
		rows := _compared(query).rows with data.unread as {_btp: ["shop"]}
		rows == []
	}
}

test_part_that_a_rule_has_itself_is_no_difference if {
	filters := [{"type": "CORS", "cors": {"allowOrigins": ["*"]}}]
	shadows := [{"path": "/cors", "rule": "/filters/CORS/cors"}]
	query := _asked(testing.cart_pay, [], [_family(_sp, {"/cors": true})])
	_states(query) == {"/cors": "differs"}
	own := object.union(query, {"changes": {"upsert": [object.union(obj, object.union_n([
		{"spec": {"rules": [object.union(rule, {"filters": filters}) | some rule in obj.spec.rules] | obj.kind == "HTTPRoute"}},
		{"spec": {"shadowedBy": shadows | obj.spec.kind == "SecurityPolicy"}},
	])) |
		some obj in query.changes.upsert
	]}})
	_states(own) == {}
}

test_target_of_the_proxy_that_does_not_exist_is_a_difference if {
	removed := "gateway.networking.k8s.io/HTTPRoute/shop/cart#removed"
	row := _row(_asked(removed, [], [_family(_btp, {})]))
	[row.target, row.policyKind, row.state, row.message] == [removed, "", "differs", "no such target exists"]
}

_acme := {
	"vendor": {
		"name": "Acme",
		"targets": ["gateway.networking.k8s.io/Gateway"],
		"fields": {_sp: {"/cors/maxAge": {"form": "Duration"}}},
	},
	"facts": {{
		"vendor": "Acme",
		"proxy": "other",
		"target": "gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]",
		"via": testing.listener_http,
	}},
}

_facts_of(vendor, resources) := facts if {
	answer := proxies.answer with input as object.union(testing.changed([]), {"resources": testing.parts_by_type(resources)})
		with data.bridge.extensions.proxies as {"acme": vendor}
	facts := answer.facts
}

test_facts_have_the_names_of_nodes_in_the_hierarchy if {
	_facts_of(_acme, []) == [{"vendor": "Acme", "proxy": "other", "target": testing.cart_pay, "via": testing.listener_http}]
	gone := {"vendor": "Acme", "proxy": "other", "target": "gateway.networking.k8s.io/HTTPRoute/shop/gone#[0]"}
	_facts_of(object.union(_acme, {"facts": {gone}}), []) == [gone]
}

test_facts_are_those_of_all_vendors if {
	rule := {"kind": "HTTPRoute", "namespace": "shop", "name": "cart"}
	route := {
		"proxy": "edge",
		"type": "route",
		"config": {
			"name": "httproute/shop/cart/rule/0/match/0/all",
			"metadata": {"filterMetadata": {"envoy-gateway": {"resources": [rule]}}},
		},
		"routeConfig": "infra/public/http",
		"virtualHost": "infra/public/http/all",
		"order": ["infra/public/http", "infra/public/http/all", 0],
	}
	{[fact.vendor, fact.target] | some fact in _facts_of(_acme, [route])} == {["Acme", testing.cart_pay], ["Envoy Gateway", testing.cart_pay]}
}

test_target_that_the_rules_of_a_vendor_do_not_read_cannot_be_read if {
	policy := _security("browsers", {"cors": {"maxAge": "5s"}})
	about := {"proxies": {"edge": {"vendors": ["Acme"], "covers": [_gateway], "sections": ["routes"]}}}
	query := object.union(_asked(testing.cart_pay, [policy], []), about)
	found := proxies.comparison with input as query
		with data.bridge.extensions.proxies as {"acme": _acme}
	[[row.state, row.message] | some row in found.rows] == [["cannot be read", "Policy Bridge can't read targets of this kind from proxies of Acme"]]
}

test_proxy_names_each_of_policies_that_all_apply if {
	kind := _kind_of("SecurityPolicy", {"defaultStrategy": "Additive"})
	policies := [_security("one", {"cors": {"maxAge": "5s"}}), _security("two", {"cors": {"maxAge": "5s"}})]
	both := ["gateway.envoyproxy.io/SecurityPolicy/shop/one", "gateway.envoyproxy.io/SecurityPolicy/shop/two"]
	found := {names: state |
		some names in [both, [both[0]]]
		family := object.union(_family(_sp, {}), {"names": [{_sp: names}]})
		query := object.union(
			_asked(testing.cart_pay, [], [family]),
			{"changes": {"upsert": array.flatten([testing.world, kind, policies])}},
		)
		state := _states(query)["(policy)"]
	}
	found == {both: "verified", [both[0]]: "differs"}
}
