package bridge.attachment_test

import data.bridge.attachment
import data.bridge.testing

# The verdicts on a policy's refs among these further objects, as [reason, message].
_verdicts(policy, objects) := [[verdict.reason, verdict.message] | some verdict in found] if {
	key := concat("/", ["example.com", policy.kind, object.get(policy.metadata, "namespace", "-"), policy.metadata.name])
	found := attachment.verdicts(key) with input as testing.changed(array.concat(objects, [policy]))
}

_color(refs) := testing.color("shop", "warm", 1, refs, {"theme": "dark"})

_accepted := ["Accepted", "Policy has been accepted"]

_infra_grant := testing.grant("infra", "example.com", "ColorPolicy", "shop", testing.gateway_group, "Gateway")

test_a_ref_to_what_exists_is_accepted if {
	_verdicts(_color([testing.ref("HTTPRoute", "cart"), testing.section_ref("HTTPRoute", "cart", "pay")]), []) == [_accepted, _accepted]
}

# T2
test_a_target_or_section_that_does_not_exist_is_not_found if {
	_verdicts(_color([testing.ref("HTTPRoute", "gone"), testing.section_ref("HTTPRoute", "cart", "gone")]), []) == [
		["TargetNotFound", "Target HTTPRoute shop/gone is not found"],
		["TargetNotFound", "Target HTTPRoute shop/cart#gone is not found"],
	]
}

# T2: nothing leaks of another namespace.
test_absent_and_not_granted_have_one_message if {
	message := "Target Gateway infra/%s is not found, or no ReferenceGrant lets this policy name it"
	_verdicts(_color([testing.far_ref("Gateway", "infra", "public"), testing.far_ref("Gateway", "infra", "gone")]), []) == [
		["TargetNotFound", sprintf(message, ["public"])],
		["TargetNotFound", sprintf(message, ["gone"])],
	]
}

# T2
test_a_granted_target_is_accepted if {
	_verdicts(_color([testing.far_ref("Gateway", "infra", "public")]), [_infra_grant]) == [_accepted]
}

# T2
test_a_kind_that_the_policy_kind_does_not_list_is_invalid if {
	_verdicts(_color([testing.service_ref("cart")]), []) == [["Invalid", "ColorPolicy cannot target a Service"]]
}

# T2
test_a_group_that_does_not_fit_is_named if {
	wrong_group := object.union(testing.ref("HTTPRoute", "cart"), {"group": "networking.k8s.io"})
	_verdicts(_color([wrong_group]), []) == [[
		"Invalid",
		`ColorPolicy cannot target a HTTPRoute (its group is "networking.k8s.io"; did you mean "gateway.networking.k8s.io"?)`,
	]]
}

# T2
test_a_section_of_a_kind_without_sections_is_invalid if {
	_verdicts(testing.color("-", "warm", 1, [testing.section_ref("GatewayClass", "example", "x")], {}), []) == [[
		"Invalid",
		"ColorPolicy cannot target a section of a GatewayClass",
	]]
}

# K3
test_a_rules_place_is_not_a_section_name if {
	_verdicts(_color([testing.section_ref("HTTPRoute", "cart", "[1]")]), []) == [[
		"Invalid",
		`"[1]" is not a valid sectionName: give the rule a name, and use that name`,
	]]
}

# T2
test_a_namespace_that_the_policy_kind_forbids_is_invalid if {
	policy := testing.timeout("slow", 1, [object.union(testing.service_ref("cart"), {"namespace": "infra"})], {"request": "1s"})
	_verdicts(policy, []) == [[
		"Invalid",
		"TimeoutPolicy cannot target another namespace, as Service infra/cart is",
	]]
}

# T3
test_a_namespaced_policy_cannot_target_what_is_cluster_scoped if {
	_verdicts(_color([testing.ref("GatewayClass", "example")]), []) == [[
		"Invalid",
		"A policy in a namespace cannot target GatewayClass example, which is cluster-scoped",
	]]
}

_zone_kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule", "crossNamespace": "ReferenceGrant"})

_zone(namespace, refs) := testing.with_spec(
	testing.resource("example.com/v1", "ZonePolicy", namespace, "zone"),
	{"targetRefs": refs, "zone": "a"},
)

# T3
test_a_policy_may_target_its_own_namespace_but_no_other if {
	refs := [{"group": "", "kind": "Namespace", "name": "shop"}, {"group": "", "kind": "Namespace", "name": "infra"}]
	_verdicts(_zone("shop", refs), [_zone_kind]) == [
		_accepted,
		["Invalid", "A policy in a namespace cannot target Namespace infra, which is cluster-scoped"],
	]
}

# T3
test_a_cluster_scoped_policy_needs_no_grant_but_names_the_namespace if {
	refs := [
		testing.far_ref("Gateway", "infra", "public"),
		testing.ref("Gateway", "public"),
		testing.ref("GatewayClass", "example"),
		testing.far_ref("Gateway", "infra", "gone"),
	]
	_verdicts(_zone("", refs), [_zone_kind]) == [
		_accepted,
		["Invalid", "A cluster-scoped policy must name the namespace of Gateway public"],
		_accepted,
		["TargetNotFound", "Target Gateway infra/gone is not found, or no ReferenceGrant lets this policy name it"],
	]
}

test_where_a_kind_lists_no_targets_sections_may_be_named if {
	_verdicts(_zone("shop", [testing.section_ref("HTTPRoute", "cart", "pay")]), [_zone_kind]) == [_accepted]
}

# T2, F7
test_an_invalid_policy_is_invalid_at_every_ref if {
	policy := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart"), testing.ref("HTTPRoute", "gone")], {"strategy": "mix"})
	invalid := ["Invalid", concat("", [
		"Strategy mix is unknown; known are ",
		"AtomicDefaults, AtomicOverrides, PatchDefaults, PatchOverrides, atomic, patch",
	])]
	_verdicts(policy, []) == [invalid, invalid]
}

test_a_policy_without_spec_is_invalid_once if {
	bare := testing.resource("example.com/v1", "ColorPolicy", "shop", "warm")
	message := attachment.policy_problem("example.com/ColorPolicy/shop/warm") with input as testing.changed([bare])
	message == "Policy has no spec"
}

test_a_policy_without_refs_is_invalid if {
	message := attachment.policy_problem("example.com/ColorPolicy/shop/warm") with input as testing.changed([_color([])])
	message == "Policy names no target: spec.targetRefs is missing or empty"
}

# T2: of two listeners of one name, which the API refuses, the first counts.
test_two_listeners_of_one_name_are_one_target if {
	listeners := [testing.listener("http", 80), testing.listener("http", 81)]
	twins := object.union(testing.gateway("twins", listeners), {"metadata": {"namespace": "shop"}})
	_verdicts(_color([testing.section_ref("Gateway", "twins", "http")]), [twins]) == [_accepted]
}

# T2
test_a_listener_that_does_not_exist_is_not_found if {
	own := object.union(testing.gateway("own", [testing.listener("http", 80)]), {"metadata": {"namespace": "shop"}})
	_verdicts(_color([testing.section_ref("Gateway", "own", "https"), testing.section_ref("Gateway", "own", "http")]), [own]) == [
		["TargetNotFound", "Target Gateway shop/own#https is not found"],
		_accepted,
	]
}

# T1
test_a_group_with_a_version_is_its_group if {
	_verdicts(_color([object.union(testing.ref("HTTPRoute", "cart"), {"group": "gateway.networking.k8s.io/v1"})]), []) == [_accepted]
}

# T2
test_a_wrapper_that_is_not_an_object_is_invalid if {
	every value in ["x", 3, [], false] {
		_verdicts(testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"overrides": value}), []) == [[
			"Invalid",
			"/spec/overrides is not an object",
		]]
	}
}

# T2
test_two_strategies_at_once_are_invalid if {
	policy := testing.color("shop", "warm", 1, [testing.ref("HTTPRoute", "cart")], {"overrides": {"a": 1}, "defaults": {"b": 1}})
	[[reason, message]] := _verdicts(policy, [])
	reason == "Invalid"
	startswith(message, "Fields beside /spec/overrides: ")
}

# T5
test_a_target_that_is_being_deleted_counts_until_it_is_removed if {
	leaving := object.union(testing.route("leaving", [], []), {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	_verdicts(_color([testing.ref("HTTPRoute", "leaving")]), [leaving]) == [_accepted]
}

# T4
test_a_verdict_stands_for_each_ref_in_the_policys_order if {
	_verdicts(_color([testing.ref("HTTPRoute", "gone"), testing.service_ref("cart"), {"kind": 3}, testing.ref("HTTPRoute", "cart")]), []) == [
		["TargetNotFound", "Target HTTPRoute shop/gone is not found"],
		["Invalid", "ColorPolicy cannot target a Service"],
		["Invalid", "spec.targetRefs[2].name is missing or empty"],
		_accepted,
	]
}
