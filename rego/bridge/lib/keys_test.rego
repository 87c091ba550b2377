package bridge.lib.keys_test

import data.bridge.lib.keys

test_a_key_has_its_parts if {
	keys.parse("gateway.networking.k8s.io/Gateway/infra/public#https") == {
		"group": "gateway.networking.k8s.io",
		"kind": "Gateway",
		"namespace": "infra",
		"name": "public",
		"section": "https",
		"role": "",
		"object": "gateway.networking.k8s.io/Gateway/infra/public",
		"type": "gateway.networking.k8s.io/Gateway",
	}
}

# K4
test_a_frontend_is_a_role_of_its_object if {
	parts := keys.parse("core/Service/shop/cart@frontend")
	[parts.object, parts.role, parts.section] == ["core/Service/shop/cart", "frontend", ""]
}

test_a_text_with_too_few_parts_is_not_a_key if {
	not keys.parse("Gateway/infra/public")
}

test_the_core_group_and_cluster_scope_have_names if {
	keys.of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}) == "core/Namespace/-/shop"
}

test_an_object_has_the_key_of_its_group_whatever_the_version if {
	keys.of({
		"apiVersion": "gateway.networking.k8s.io/v1beta1",
		"kind": "Gateway",
		"metadata": {"name": "public", "namespace": "infra"},
	}) == "gateway.networking.k8s.io/Gateway/infra/public"
}

test_values_that_are_no_objects_have_no_key if {
	not keys.of({"kind": "Gateway", "metadata": {"name": "public"}})
}

# T1
test_a_group_may_carry_a_version if {
	keys.group_name("gateway.networking.k8s.io/v1") == "gateway.networking.k8s.io"
	keys.group_name("") == "core"
	keys.group_name("core") == "core"
}

test_a_namespace_is_as_kubernetes_writes_it if {
	keys.namespace("core/Service/shop/cart") == "shop"
	keys.namespace("core/Namespace/-/shop") == ""
}

test_messages_name_an_object_by_namespace_and_name if {
	keys.short("core/Service/shop/cart#http") == "shop/cart"
	keys.short("core/Namespace/-/shop") == "shop"
}

test_a_section_is_part_of_a_key if {
	keys.section("core/Service/shop/cart", "http") == "core/Service/shop/cart#http"
}

# F1, GEP-713 "alphabetical order by {namespace}/{name}"
test_of_one_age_a_cluster_scoped_object_comes_first if {
	keys.alphabetical("core/Service/shop/cart#http") == "shop/cart"
	keys.alphabetical("core/Namespace/-/shop") == "/shop"
}

test_named_object_has_a_key if {
	keys.named("", "Service", "shop", "cart") == "core/Service/shop/cart"
	keys.named("gateway.networking.k8s.io/v1", "GatewayClass", "", "example") == "gateway.networking.k8s.io/GatewayClass/-/example"
}

test_name_with_a_mark_of_a_key_or_an_empty_part_makes_no_key if {
	every parts in [
		["", "Service", "shop", "../infra/gw"],
		["", "Service", "shop", "cart#http"],
		["", "Service", "shop", "cart@frontend"],
		["", "Service", "shop", ""],
		["", "Service", "shop", "cart "],
		["", "Service", "shop", "\u00a0cart"],
		["", "Service", "shop", null],
		["", "Service", "shop", 3],
		["", "", "shop", "cart"],
		["", "A/B", "shop", "cart"],
		["", "Service", "a/b", "cart"],
		["", "Service", null, "cart"],
		["x#y", "Service", "shop", "cart"],
		["/v1", "Service", "shop", "cart"],
	] {
		not keys.named(parts[0], parts[1], parts[2], parts[3])
	}
}
