package bridge.status_test

import data.bridge.status
import data.bridge.testing

_manager := "policy-bridge"

_former := [{"group": "example.com", "kind": "TimeoutPolicy", "controllerName": "example.com/timeout-controller"}]

_mark := "example.com/TimeoutPolicyAffected"

_traced(obj) := status.traces(obj, _former, _manager)

_by(manager, fields) := {"metadata": {"managedFields": [{"manager": manager, "fieldsV1": fields}]}}

_shows(types) := {"status": {"conditions": [{"type": type} | some type in types]}}

_type_field(type) := sprintf("k:%s", [json.marshal({"type": type})])

test_an_object_that_never_met_a_bridge_has_no_traces if {
	fields := {"f:metadata": {"f:annotations": {"f:a": {}}}, "f:status": {"f:conditions": {}}}
	service := object.union(
		object.union(testing.service("cart", []), {"metadata": {"annotations": {"a": "b"}}}),
		object.union(_by("kubectl", fields), _shows(["Accepted", "acme.io/OtherPolicyAffected"])),
	)
	_traced(service) == {}
}

test_marks_are_known_by_the_names_of_policy_kinds_in_every_place if {
	conditions := [{"type": _mark}, {"type": "Accepted"}]
	gateway := object.union(testing.gateway("public", []), {"status": {"listeners": [{"name": "http", "conditions": conditions}]}})
	parents := [{"controllerName": "example.com/timeout-controller", "conditions": conditions}, {"controllerName": "acme.io/gw"}]
	route := object.union(testing.route("cart", [], []), {"status": {"parents": parents}})
	annotated := object.union(testing.service("cart", []), {"metadata": {"annotations": {_mark: "true", "mine": "1"}}})
	[_traced(gateway), _traced(route), _traced(annotated)] == [
		{"types": {_mark}},
		{"types": {_mark}, "parents": {"example.com/timeout-controller"}},
		{"types": {_mark}, "annotations": {_mark}},
	]
}

test_entry_of_a_route_without_a_mark_is_no_trace if {
	parents := [{"controllerName": "example.com/timeout-controller", "conditions": [{"type": "Accepted"}]}]
	_traced(object.union(testing.route("cart", [], []), {"status": {"parents": parents}})) == {}
}

test_marks_of_forgotten_policy_kinds_are_known_by_their_writer if {
	old := "old.io/OldPolicyAffected"
	shown := object.union(testing.service("cart", []), _shows([old, "acme.io/OtherPolicyAffected"]))
	fields := {"f:status": {"f:conditions": {_type_field(old): {"f:status": {}}}}}
	_traced(object.union(shown, _by(_manager, fields))) == {"types": {old}}
}

test_conditions_of_policies_are_a_bridges_by_kind_or_by_writer if {
	policy := testing.timeout("slow", 1, [], {})
	shows := _shows(["Accepted", "Programmed", "acme.io/Checked"])
	other := object.union(object.union(policy, {"kind": "OtherPolicy"}), shows)
	[
		_traced(object.union(policy, shows)),
		_traced(other),
		_traced(object.union(other, _by(_manager, {"f:status": {"f:conditions": {_type_field("Accepted"): {}}}}))),
		_traced(object.union(other, _by(_manager, {"f:status": {"f:conditions": {}}}))),
	] == [
		{"conditions": {"Accepted", "Programmed"}},
		{},
		{"conditions": {"Accepted"}},
		{"conditions": {"Accepted", "Programmed"}},
	]
}

test_condition_that_another_controller_wrote_is_no_bridges if {
	policy := object.union(testing.timeout("slow", 1, [], {}), _shows(["Accepted", "Programmed"]))
	theirs := object.union(policy, _by("acme", {"f:status": {"f:conditions": {_type_field("Accepted"): {"f:status": {}}}}}))
	ours := {"manager": _manager, "fieldsV1": {"f:status": {"f:conditions": {_type_field("Accepted"): {"f:reason": {}}}}}}
	both := object.union(theirs, {"metadata": {"managedFields": array.concat(theirs.metadata.managedFields, [ours])}})
	[_traced(theirs), _traced(both)] == [{"conditions": {"Programmed"}}, {"conditions": {"Accepted", "Programmed"}}]
}

test_ancestors_are_a_bridges_under_the_name_of_the_controller if {
	ancestors := [{"controllerName": "example.com/timeout-controller"}, {"controllerName": "acme.io/gw"}]
	policy := object.union(testing.timeout("slow", 1, [], {}), {"status": {"ancestors": ancestors}})
	_traced(policy) == {"ancestors": {"example.com/timeout-controller"}}
}

test_an_annotation_is_a_bridges_where_no_other_client_wrote_it if {
	placed := object.union(testing.service("cart", []), {"metadata": {"annotations": {"a": "1", "b": "2"}}})
	ours := {"manager": _manager, "fieldsV1": {"f:metadata": {"f:annotations": {"f:a": {}, "f:b": {}}}}}
	theirs := {"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:annotations": {"f:b": {}}}}}
	_traced(object.union(placed, {"metadata": {"managedFields": [ours, theirs]}})) == {"annotations": {"a"}}
}

test_conditions_of_policies_are_a_bridges_whole if {
	config_map := testing.resource("v1", "ConfigMap", "shop", "policy")
	annotated := object.union(config_map, {"metadata": {"annotations": {"policybridge.io/status": "{}"}}})
	kind := object.union(testing.policykind(testing.timeout_kind), _shows(["Accepted"]))
	[_traced(annotated), _traced(kind)] == [{"annotations": {"policybridge.io/status"}}, {"status": {true}}]
}

test_fields_of_a_webhook_that_the_bridge_wrote_are_known if {
	shown := {"name": "b.io", "failurePolicy": "Fail", "clientConfig": {"caBundle": "…"}}
	webhook := object.union(
		testing.resource("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "policy-bridge"),
		{"webhooks": [{"name": "a.io"}, shown]},
	)
	field := sprintf("k:%s", [json.marshal({"name": "b.io"})])
	fields := {"f:webhooks": {field: {"f:failurePolicy": {}, "f:clientConfig": {"f:caBundle": {}}}}}
	restored := {"webhooks": [{"name": "a.io"}, {"name": "b.io", "failurePolicy": "Ignore"}]}
	validating := object.union(webhook, {"kind": "ValidatingWebhookConfiguration"})
	_traced(object.union(validating, _by(_manager, fields))) == _traced(object.union(webhook, _by(_manager, fields)))
	[
		_traced(object.union(webhook, _by(_manager, fields))),
		_traced(object.union(object.union(webhook, restored), _by(_manager, fields))),
	] == [
		{"webhooks": [{"index": 1, "fields": {"failurePolicy", "caBundle"}}]},
		{},
	]
}

_gateway_api_type(kind) := sprintf("gateway.networking.k8s.io/%s", [kind])

_replicated := {"core/Namespace", "core/Service", "apiextensions.k8s.io/CustomResourceDefinition", "policybridge.io/PolicyKind"} | {type |
	some kind in ["GatewayClass", "Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "ReferenceGrant"]
	type := _gateway_api_type(kind)
}

_written(described, more) := found if {
	found := status.writable_types(_replicated | more) with input as {"changes": {"upsert": described}}
}

_acme(fields) := testing.policykind(object.union(
	{"group": "acme.io", "kind": "AcmePolicy", "class": "Direct", "mode": "Manage", "controllerName": "acme.io/c"},
	fields,
))

test_a_kind_that_is_only_observed_writes_nowhere if {
	_written([_acme({"mode": "Observe"})], set()) == {"status": [], "annotations": []}
}

test_policies_their_targets_and_parents_of_effective_targets_are_written_to if {
	described := testing.policykind(object.union(testing.color_kind, {"effectiveTarget": "Listener"}))
	_written([described], set()).status == [
		"example.com/ColorPolicy",
		_gateway_api_type("Gateway"),
		_gateway_api_type("GatewayClass"),
		_gateway_api_type("HTTPRoute"),
	]
}

test_types_that_are_not_replicated_are_never_written_to if {
	described := _acme({"targets": [{"group": "acme.io", "kind": "Bucket"}]})
	_written([described], set()) == {"status": ["acme.io/AcmePolicy"], "annotations": []}
	_written([described], {"acme.io/Bucket"}) == {"status": ["acme.io/AcmePolicy"], "annotations": ["acme.io/Bucket"]}
}

test_a_kind_without_listed_targets_writes_to_the_hierarchy_and_to_types_of_the_settings if {
	found := _written([_acme({})], {"apps/Deployment"})
	found.annotations == ["apps/Deployment"]
	{"core/Namespace", "core/Service", _gateway_api_type("TLSRoute")} - {type | some type in found.status} == set()
	not _gateway_api_type("ReferenceGrant") in found.status
	not "apiextensions.k8s.io/CustomResourceDefinition" in found.status
}

test_backends_of_other_kinds_are_written_to_where_the_settings_name_them if {
	described := _acme({"class": "Inherited", "effectiveTarget": "Backend", "targets": [{
		"group": testing.gateway_group,
		"kind": "Gateway",
	}]})
	found := _written([described], {"acme.io/Bucket"})
	found == {"status": ["acme.io/AcmePolicy", "core/Service", _gateway_api_type("Gateway")], "annotations": ["acme.io/Bucket"]}
}

test_only_kinds_that_count_at_the_effective_level_are_written_to if {
	described := _acme({"class": "Inherited", "effectiveTarget": "Rule", "targets": [
		{"group": testing.gateway_group, "kind": "Gateway"},
		{"group": testing.gateway_group, "kind": "GRPCRoute"},
	]})
	_written([described], set()).status == [
		"acme.io/AcmePolicy",
		_gateway_api_type("GRPCRoute"),
		_gateway_api_type("Gateway"),
	]
}
