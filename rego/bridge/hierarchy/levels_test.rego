package bridge.hierarchy_test

import data.bridge.hierarchy

test_a_node_has_the_level_of_its_kind_or_of_its_section if {
	levels := [level |
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
		level := hierarchy.level(node)
	]
	levels == ["GatewayClass", "Gateway", "Listener", "Route", "Rule", "Backend", "Port", "Namespace", "Backend"]
}

test_a_section_of_a_kind_without_sections_has_no_level if {
	not hierarchy.level("acme.io/Bucket/shop/files#part")
}

test_kinds_with_sections_are_known if {
	hierarchy.has_sections("core/Service")
	not hierarchy.has_sections("core/Namespace")
}

test_a_kind_is_cluster_scoped_by_nature_or_by_its_crd if {
	crd := {
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition",
		"metadata": {"name": "zones.acme.io"},
		"spec": {"group": "acme.io", "names": {"kind": "Zone"}, "scope": "Cluster"},
	}
	hierarchy.cluster_scoped("core/Namespace")
	hierarchy.cluster_scoped("acme.io/Zone") with input as {"changes": {"upsert": [crd]}}
	not hierarchy.cluster_scoped("acme.io/Zone")
}
