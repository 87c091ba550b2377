package bridge.lib.levels_test

import data.bridge.lib.levels

test_a_node_has_the_level_of_its_kind_or_of_its_section if {
	found := [level |
		some node in [
			"gateway.networking.k8s.io/GatewayClass/-/example",
			"gateway.networking.k8s.io/Gateway/infra/public",
			"gateway.networking.k8s.io/Gateway/infra/public#http",
			"gateway.networking.k8s.io/HTTPRoute/shop/cart",
			"gateway.networking.k8s.io/HTTPRoute/shop/cart#[0]",
			"core/Service/shop/cart",
			"core/Service/shop/cart#http",
			"core/Namespace/-/shop",
			"acme.io/Bucket/shop/files",
		]
		level := levels.of(node)
	]
	found == ["GatewayClass", "Gateway", "Listener", "Route", "Rule", "Backend", "Port", "Namespace", "Backend"]
}

test_a_section_of_a_kind_without_sections_has_no_level if {
	not levels.of("acme.io/Bucket/shop/files#part")
}

test_kinds_with_sections_are_known if {
	levels.has_sections("core/Service")
	not levels.has_sections("core/Namespace")
}

test_a_module_may_assign_levels_of_objects_and_of_sections_but_not_those_of_nodes if {
	every level in [
		{"object": "Backend"},
		{"object": "Route", "section": "Rule"},
		{"object": "Gateway", "section": "Listener"},
		{"object": "Tenant", "section": "Port"},
	] {
		levels.is_level(level)
	}
	every name in ["Listener", "Rule", "Port", "Frontend", "Target", "Namespace", "tenant", "Two Words", ""] {
		not levels.is_level({"object": name})
	}
	every level in ["Route", {}, {"section": "Rule"}, {"object": "Route", "section": "Part"}] {
		not levels.is_level(level)
	}
}
