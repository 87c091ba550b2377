package bridge.problems_test

import data.bridge.lib.keys
import data.bridge.testing
import data.bridge.v1

_problems_of(objects) := {[one.subject, one.reason, one.message] |
	some one in v1.problems with input as {"changes": {"upsert": objects}}
}

test_name_that_no_object_can_have_is_a_problem if {
	gateway := object.union(testing.gateway("odd", [testing.listener("http", 80)]), {"spec": {"gatewayClassName": "a/b"}})
	_problems_of([gateway]) == {[sprintf("%s/Gateway/infra/odd", [keys.gateway_api]), "ParentNotFound", "spec.gatewayClassName names an object that cannot exist: check its name"]}
	mirror := {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "m/n", "port": 80}}}
	authorization := {"type": "ExternalAuth", "externalAuth": {"protocol": "HTTP", "backendRef": {"name": "a b", "port": 80}}}
	route := testing.route("odd", [{"name": "x/y"}], [{
		"filters": [{"type": "RequestHeaderModifier"}, authorization],
		"backendRefs": [{"name": "z#1", "port": 80, "filters": [mirror]}],
	}])
	_problems_of([route]) == {[testing_route, reason, message] |
		testing_route := sprintf("%s/HTTPRoute/shop/odd", [keys.gateway_api])
		some [reason, message] in [
			["ParentNotFound", "spec.parentRefs[0] names an object that cannot exist: check its name"],
			["BackendNotFound", "spec.rules[0].backendRefs[0] names an object that cannot exist: check its name"],
			["BackendNotFound", "spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef names an object that cannot exist: check its name"],
			["BackendNotFound", "spec.rules[0].filters[1].externalAuth.backendRef names an object that cannot exist: check its name"],
		]
	}
}
