package bridge.effective_test

import data.bridge.effective

_refusing_path := ["gateway.networking.k8s.io/GatewayClass/-/envoy", "gateway.networking.k8s.io/Gateway/infra/public", "gateway.networking.k8s.io/HTTPRoute/shop/cart"]

_refused := "gateway.envoyproxy.io/SecurityPolicy/shop/browsers"

_policy_with_status(ancestor, condition) := {
	"apiVersion": "gateway.envoyproxy.io/v1alpha1",
	"kind": "SecurityPolicy",
	"metadata": {"namespace": "shop", "name": "browsers", "generation": 2},
	"spec": {"cors": {"maxAge": "5s"}},
	"status": {"ancestors": [object.union(
		{
			"controllerName": "gateway.envoyproxy.io/gatewayclass-controller",
			"ancestorRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra", "name": "public"},
			"conditions": [object.union({"type": "Accepted", "status": "False", "reason": "Invalid", "message": "no such backend", "observedGeneration": 2}, condition)],
		},
		ancestor,
	)]},
}

_messages(ancestor, condition, outcome) := _messages_on(_refusing_path, ancestor, condition, outcome)

_messages_on(path, ancestor, condition, outcome) := messages if {
	found := effective.refusals({"path": path, "policies": [{"policy": _refused, "outcome": outcome}]}) with input as {"changes": {"upsert": [_policy_with_status(ancestor, condition)]}}
	messages := [message | some [_, message] in found]
}

test_policy_that_envoy_gateway_rejects_makes_its_proxies_answer_requests if {
	_messages({}, {}, "Programmed") == ["Envoy Gateway rejects SecurityPolicy/shop/browsers, so its proxies answer 500 themselves: no such backend"]
}

test_policy_is_not_refused_by_other_controllers_at_other_gateways_or_before_its_last_change if {
	every ancestor in [{"controllerName": "example.com/other"}, {"ancestorRef": {"namespace": "infra", "name": "internal"}}] {
		_messages(ancestor, {}, "Programmed") == []
	}
	every condition in [{"status": "True"}, {"reason": "Conflicted"}, {"reason": "TargetNotFound"}, {"observedGeneration": 1}, {"type": "Overridden", "status": "False"}] {
		_messages({}, condition, "Programmed") == []
	}
	_messages({}, {}, "Overridden") == []
}

test_policy_is_refused_at_the_listener_that_the_status_names if {
	path := array.concat(array.slice(_refusing_path, 0, 2), ["gateway.networking.k8s.io/Gateway/infra/public#https", _refusing_path[2]])
	at := {name: {"ancestorRef": {"namespace": "infra", "name": "public", "sectionName": name}} | some name in ["http", "https", ""]}
	{name: count(_messages_on(path, ancestor, {}, "Programmed")) | some name, ancestor in at} == {"http": 0, "https": 1, "": 1}

	# A path that ends above the listeners.
	count(_messages(at.http, {}, "Programmed")) == 1
}
