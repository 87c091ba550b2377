package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

_refs_leading(refs, above) := found if {
	found := hierarchy.parent_refs("gateway.networking.k8s.io/HTTPRoute/shop/many", above) with input as testing.changed([testing.route("many", refs, [{}])])
}

_whole := {"name": "public", "namespace": "infra"}

_by_section := {"name": "public", "namespace": "infra", "sectionName": "http"}

_by_port := {"name": "public", "namespace": "infra", "port": 8080}

_other := {"name": "other", "namespace": "infra"}

test_the_parent_refs_that_lead_to_a_listener_are_those_that_select_it if {
	refs := [_whole, _by_section, _by_port, _other]
	http := _refs_leading(refs, testing.listener_http)
	alt := _refs_leading(refs, "gateway.networking.k8s.io/Gateway/infra/public#alt")
	[http, alt] == [{_whole, _by_section}, {_whole, _by_port}]
}

test_all_parent_refs_lead_to_a_path_that_begins_at_the_route if {
	_refs_leading([_whole, _other], "") == {_whole, _other}
}
