package bridge.guarded_changes_test

import data.bridge.admission
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.testing
import data.bridge.v1

_constraint(name, spec) := testing.with_spec(
	testing.resource("policybridge.io/v1alpha1", "Constraint", "", name),
	object.union(
		{
			"policy": "bridge.guardrails.required_policy",
			"match": {"kinds": [{"kinds": ["HTTPRoute"]}]},
			"parameters": {"kinds": ["example.com/ColorPolicy"]},
		},
		spec,
	),
)

_dark := testing.color("infra", "dark", 1, [testing.ref("Gateway", "public")], {"theme": "dark"})

_deletion := {
	"operation": "DELETE",
	"kind": {"group": "example.com", "version": "v1", "kind": "ColorPolicy"},
	"namespace": "infra",
	"name": "dark",
	"object": null,
	"oldObject": _dark,
}

_messages(constraints, more, request) := found if {
	objects := array.concat(testing.world, array.concat(constraints, more))
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := admission.guardrail_messages with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy", "bridge.guardrails.no_weakening"}
}

_missing := "[colors] HTTPRoute/shop/cart: rule pay via Gateway/infra/public#http: no ColorPolicy is in effect for * (because of ColorPolicy/infra/dark)"

test_a_deletion_that_introduces_violations_is_denied if {
	found := _messages([_constraint("colors", {})], [_dark], _deletion)
	["deny", _missing] in found
}

test_deletions_that_violate_a_guardrail_only_together_are_not_both_admitted if {
	twin := testing.color("infra", "twin", 2, [testing.ref("Gateway", "public")], {"theme": "dark"})
	_messages([_constraint("colors", {})], [_dark, twin], _deletion) == set()
	after_the_other := object.union(_deletion, {"admitted": {"delete": [keys.of(twin)]}})
	found := _messages([_constraint("colors", {})], [_dark, twin], after_the_other)
	["deny", _missing] in found
	["deny", "judged together with changes that were admitted a moment ago: ColorPolicy/infra/twin"] in found
}

test_route_is_judged_with_the_policy_that_an_admitted_update_moves_away if {
	moved := object.union(_dark, {"spec": {"targetRefs": [testing.section_ref("Gateway", "public", "alt")]}})
	request := {"operation": "CREATE", "kind": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}, "namespace": "shop", "object": _fresh("public")}
	_messages([_constraint("colors", {})], [_dark], request) == set()
	found := _messages([_constraint("colors", {})], [_dark], object.union(request, {"admitted": {"upsert": [moved]}}))
	some [action, message] in found
	action == "deny"
	contains(message, "HTTPRoute/shop/fresh")
}

test_result_has_the_change_that_later_requests_are_judged_with if {
	_changed([_constraint("colors", {})], _deletion) == {"delete": [keys.of(_dark)]}
	idle := object.union(_deletion, {"kind": {"group": "", "version": "v1", "kind": "Pod"}, "oldObject": testing.resource("v1", "Pod", "shop", "idle")})
	not _changed([_constraint("colors", {})], idle)
	not _changed([_constraint("colors", {"enforcementAction": "dryrun"})], _deletion)
	not _changed([], _deletion)
}

_changed(constraints, request) := found if {
	objects := array.concat(testing.world, array.concat(constraints, [_dark]))
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.admission.change with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
}

# The answer while OPA has no guardrail yet.
_early(constraints, more, request) := found if {
	objects := array.concat(testing.world, array.concat(constraints, more))
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.admission with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with data.bridge.constraints.dispatch.policies as set()
}

test_change_before_its_guardrail_is_loaded_is_denied_unless_the_constraint_ignores_failures if {
	fails := _early([_constraint("colors", {})], [_dark], _deletion)
	fails.unloaded == ["bridge.guardrails.required_policy"]
	[message] := fails.denied
	message == concat(" ", [
		"[colors] is not judged: policy bridge.guardrails.required_policy is not loaded;",
		"to admit what is not judged, set failurePolicy: Ignore in the Constraint",
	])
	ignores := _early([_constraint("colors", {"failurePolicy": "Ignore"})], [_dark], _deletion)
	object.remove(ignores, ["change"]) == {"denied": [], "warnings": ["[colors] is not judged: policy bridge.guardrails.required_policy is not loaded"]}
}

test_change_that_no_unloaded_guardrail_would_judge_is_admitted if {
	elsewhere := testing.color("infra", "other", 1, [testing.section_ref("Gateway", "public", "alt")], {"theme": "dark"})
	found := _early([_constraint("colors", {})], [elsewhere], object.union(_deletion, {"oldObject": elsewhere}))
	object.remove(found, ["change"]) == {"denied": [], "warnings": []}
	_early([_constraint("colors", {"enforcementAction": "dryrun"})], [_dark], _deletion).denied == []
}

test_former_values_at_the_new_place_of_a_policy_count if {
	kept := _constraint("kept", {"policy": "bridge.guardrails.no_weakening"})
	old := testing.color("shop", "own", 2, [testing.ref("HTTPRoute", "fresh")], {"contrast": 5})
	new := object.union(old, {"spec": {"targetRefs": [testing.ref("HTTPRoute", "cart")]}})
	found := _messages([kept], [_dark, old, _fresh("public")], _update("example.com", "shop", old, new))
	lost := "rule pay via Gateway/infra/public#http: fields of ColorPolicy/infra/dark are no longer in effect: theme (because of ColorPolicy/infra/dark)"
	["deny", concat("", ["[kept] HTTPRoute/shop/cart: ", lost])] in found
}

_effects(constraints, request) := found if {
	objects := array.concat(testing.world, array.concat(constraints, [_dark]))
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := [admission.effects, count(admission._after.objects)] with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
}

test_the_effects_of_a_policy_are_the_same_beside_a_guardrail if {
	strong := testing.color("infra", "strong", 2, [testing.ref("Gateway", "public")], {"overrides": {"theme": "light"}})
	mild := testing.color("infra", "strong", 2, [testing.ref("Gateway", "public")], {"theme": "light"})
	create := {"operation": "CREATE", "kind": {"group": "example.com", "kind": "ColorPolicy"}, "namespace": "infra", "object": strong}
	every request in [create, _update("example.com", "infra", mild, strong)] {
		[alone, 0] = _effects([], request)
		[beside, judged] := _effects([_constraint("colors", {})], request)
		beside == alone
		judged > 0
		count(alone) > 0
	}
}

test_the_action_of_the_constraint_counts if {
	warned := _messages([_constraint("colors", {"enforcementAction": "warn"})], [_dark], _deletion)
	["warn", _missing] in warned
	_messages([_constraint("colors", {"enforcementAction": "dryrun"})], [_dark], _deletion) == set()
}

test_a_violation_that_exists_already_denies_nothing if {
	other := testing.color("infra", "other", 1, [testing.section_ref("Gateway", "public", "alt")], {"theme": "dark"})
	_messages([_constraint("colors", {})], [other], object.union(_deletion, {"oldObject": other})) == set()
}

test_an_update_and_a_creation_are_judged_as_they_will_be if {
	moved := object.union(_dark, {"spec": {"targetRefs": [testing.ref("Gateway", "other")]}})
	update := object.union(_deletion, {"operation": "UPDATE", "object": moved})
	["deny", _missing] in _messages([_constraint("colors", {})], [_dark], update)
	fresh := testing.route("fresh", [{"name": "public", "namespace": "infra"}], [{"name": "all"}])
	create := {
		"operation": "CREATE",
		"kind": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"},
		"namespace": "shop",
		"object": object.remove(fresh, ["status"]),
	}
	created := _messages([_constraint("colors", {})], [], create)
	some ["deny", message] in created
	startswith(message, "[colors] HTTPRoute/shop/fresh: rule all via Gateway/infra/public#")
}

# A Gateway without policies that admits routes as `allowed` says, and a route that names it.
_other(allowed) := testing.gateway("other", [object.union(testing.listener("open", 80), {"allowedRoutes": {"namespaces": allowed}})])

_fresh(gateway) := object.remove(testing.route("fresh", [{"name": gateway, "namespace": "infra"}], [{"name": "all"}]), ["status"])

_namespace(labels) := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}

_update(group, namespace, old, new) := {
	"operation": "UPDATE",
	"kind": {"group": group, "kind": new.kind},
	"namespace": namespace,
	"name": new.metadata.name,
	"object": new,
	"oldObject": old,
}

_exposes(objects, request) if {
	some ["deny", message] in _messages([_constraint("colors", {})], array.concat([_dark], objects), request)
	message == "[colors] HTTPRoute/shop/fresh: rule all via Gateway/infra/other#open: no ColorPolicy is in effect for *"
}

test_a_route_that_moves_to_a_gateway_without_policies_is_denied if {
	objects := [_other({"from": "All"}), _fresh("public")]
	_exposes(objects, _update(testing.gateway_group, "shop", _fresh("public"), _fresh("other")))
	not _exposes(objects, _update(testing.gateway_group, "shop", _fresh("public"), _fresh("public")))
}

test_a_listener_that_opens_to_a_route_is_denied if {
	objects := [_other({"from": "Same"}), _fresh("other")]
	_exposes(objects, _update(testing.gateway_group, "infra", _other({"from": "Same"}), _other({"from": "All"})))
}

test_a_label_of_a_namespace_that_opens_a_listener_is_denied if {
	selecting := _other({"from": "Selector", "selector": {"matchLabels": {"open": "yes"}}})
	_exposes([selecting, _fresh("other")], _update("", "", _namespace({}), _namespace({"open": "yes"})))
}

test_a_label_of_an_object_without_targets_may_violate_a_constraint if {
	selecting := _constraint("teams", {
		"match": {"kinds": [{"kinds": ["Namespace"]}]},
		"parameterSelection": [{"match": {"labelSelector": {"matchLabels": {"team": "red"}}}}],
		"onParameterSelectionNoMatch": "deny",
	})
	found := _messages([selecting], [_namespace({"team": "red"})], _update("", "", _namespace({"team": "red"}), _namespace({})))
	["deny", "[teams] Namespace/shop: no entry of parameterSelection matches"] in found
	_messages([selecting], [_namespace({})], _update("", "", _namespace({}), _namespace({"team": "blue"}))) == set()
}

test_a_namespace_that_takes_a_policy_for_others_along_is_denied if {
	far := testing.color("lent", "far", 1, [testing.far_ref("Gateway", "infra", "public")], {"theme": "dark"})
	grant := testing.grant("infra", "example.com", "ColorPolicy", "lent", testing.gateway_group, "Gateway")
	namespace := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lent"}}
	request := {"operation": "DELETE", "kind": {"group": "", "kind": "Namespace"}, "namespace": "lent", "name": "lent", "object": null, "oldObject": namespace}
	found := _messages([_constraint("colors", {})], [far, grant, namespace], request)
	["deny", "[colors] HTTPRoute/shop/cart: rule pay via Gateway/infra/public#http: no ColorPolicy is in effect for *"] in found
}

test_objects_that_leave_with_their_namespace_may_go if {
	leaving := {"metadata": {"name": "infra", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "apiVersion": "v1", "kind": "Namespace"}
	world := [obj | some obj in testing.world; [obj.kind, obj.metadata.name] != ["Namespace", "infra"]]
	found := admission._leaves_with_its_namespace with input as _deletion
		with data.objects as testing.stored(array.concat(world, [leaving]))
	found
}

test_an_update_that_changes_nothing_in_effect_concerns_no_object if {
	[gateway] := [obj | some obj in testing.world; [obj.kind, obj.metadata.name] == ["Gateway", "public"]]
	annotated := object.union(gateway, {"metadata": {"annotations": {"note": "x"}}, "status": {"addresses": []}})
	labelled := object.union(gateway, {"metadata": {"labels": {"note": "x"}}})
	found := [_remaining([_constraint("colors", {})], [_fresh_route], _update(testing.gateway_group, "infra", gateway, changed)) |
		some changed in [annotated, labelled]
	]
	[count(object.get(decision, ["remaining", "objects"], [])) | some decision in found] == [0, 1]
}

test_an_annotation_by_which_a_route_takes_requests_is_judged if {
	prefix := {"/a": [{"path": {"type": "PathPrefix", "value": "/a"}}], "/c": [{"path": {"type": "PathPrefix", "value": "/c"}}]}
	parents := [{"name": "public", "namespace": "infra", "sectionName": "http"}]
	top := testing.route("top", parents, [{"name": "hand", "matches": prefix["/a"], "backendRefs": [{"group": testing.gateway_group, "kind": "HTTPRoute", "name": "leaf"}]}])
	leaf := testing.route("leaf", [], [{"name": "deep", "matches": prefix["/c"]}])
	found := [count({message | some ["deny", message] in messages; startswith(message, "[colors] HTTPRoute/shop/leaf: rule deep")}) |
		some annotations in [{"note": "x"}, {"delegation.kgateway.dev/inherit-parent-matcher": "true"}]
		request := _update(testing.gateway_group, "shop", leaf, object.union(leaf, {"metadata": {"annotations": annotations}}))
		messages := _messages([_constraint("colors", {})], [top, leaf], request)
	]
	found == [0, 1]
}

test_annotations_that_decide_what_is_in_effect_are_known_for_kinds_in_use if {
	pointer := "/metadata/annotations/example.com~1unread"
	kind := {
		"delegation": {"segments": ["metadata", "annotations", "example.com/priority"], "strategies": {}},
		"notModeled": [{"path": pointer, "onPath": true}, {"path": "/metadata/annotations/own"}, {"path": "/spec/a", "onPath": true}, {"message": "guessed"}],
	}
	found := kinds.annotations_of_targets with data.kinds as {"example.com/ColorPolicy": kind}
	found == {"example.com/priority", "example.com/unread"}
}

_request_of(request) := found if {
	objects := array.concat(testing.world, [_constraint("colors", {}), _dark])
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.guarded_request with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
}

test_the_objects_of_a_request_are_known_without_judging_it if {
	found := _request_of(_deletion)
	found.constraints == ["colors"]
	found.changes == {"delete": ["example.com/ColorPolicy/infra/dark"]}
	testing.cart_route in found.objects
}

# A second route below the Gateway, so the change concerns two.
_fresh_route := _fresh("public")

test_one_new_violation_denies_a_change_of_more_objects_than_a_query_judges if {
	found := _messages([_constraint("colors", {})], [_dark, _fresh_route], _deletion) with admission.object_bound as 1
	["deny", _missing] in found
	{message | some [_, message] in found; contains(message, "shop/fresh")} == set()
}

_remaining(constraints, more, request) := found if {
	objects := array.concat(testing.world, array.concat(constraints, more))
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.admission with input as request
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with admission.object_bound as 1
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy", "bridge.guardrails.no_weakening"}
}

test_objects_that_a_query_does_not_judge_remain if {
	own := testing.color("shop", "own", 2, [testing.ref("HTTPRoute", "cart")], {"theme": "dark"})
	found := _remaining([_constraint("colors", {})], [_dark, own, _fresh_route], _deletion)
	found.denied == []
	found.remaining == {
		"constraints": ["colors"],
		"objects": ["gateway.networking.k8s.io/HTTPRoute/shop/fresh"],
		"changes": {"delete": ["example.com/ColorPolicy/infra/dark"]},
		"introduced": set(),
	}
}

_judged(query_input) := found if {
	objects := array.concat(testing.world, [_constraint("colors", {}), _dark])
	stored := testing.stored(objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	found := v1.guarded_violations with input as query_input
		with data.objects as stored
		with data.index as testing.stored_index(objects)
		with data.kinds as kinds_there
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
}

test_some_objects_of_a_request_are_judged_alone if {
	found := _judged({"request": _deletion, "objects": [testing.cart_route]})
	{[row.object, row.enforcementAction] | some row in found} == {[testing.cart_route, "deny"]}
	_judged({"request": _deletion, "objects": []}) == []
}

_unjudged(spec) := found if {
	found := v1.guarded_decision with input as {"request": _deletion, "introduced": [], "unjudged": {"colors": "judged 1 of 2 objects"}}
		with data.objects as testing.stored([_constraint("colors", spec)])
}

test_an_unjudged_object_is_denied_unless_the_constraint_ignores_failures if {
	text := "[colors] judged 1 of 2 objects"
	hint := "; to admit what is not judged, set failurePolicy: Ignore in the Constraint"
	_unjudged({}) == {"denied": [concat("", [text, hint])], "warnings": []}
	_unjudged({"failurePolicy": "Fail"}) == {"denied": [concat("", [text, hint])], "warnings": []}
	_unjudged({"failurePolicy": "Ignore"}) == {"denied": [], "warnings": [text]}
	_unjudged({"enforcementAction": "warn"}) == {"denied": [], "warnings": [text]}
}

test_a_guardrail_that_cannot_be_computed_is_said if {
	found := admission.messages_of_judged with input as {"request": _deletion}
		with data.objects as testing.stored([_constraint("colors", {"failurePolicy": "Ignore"})])
	found == {["warn", "[colors] is not judged: OPA could not compute it"]}
	denied := admission.messages_of_judged with input as {"request": _deletion}
		with data.objects as testing.stored([_constraint("colors", {})])
	{action | some [action, _] in denied} == {"deny"}
}

test_at_most_five_violations_are_listed_and_then_the_ways_out if {
	rows := {{"constraint": "c", "object": testing.cart_route, "message": sprintf("%d", [number]), "enforcementAction": "deny"} |
		some number in numbers.range(1, 7)
	}
	listed := admission._listed(rows, "deny") with input as _deletion
	count(listed) == 7
	listed[5] == "and 2 more violations"
	startswith(listed[6], "ways out: ")
	endswith(listed[6], "in Constraint/c")
	warned := admission._listed({object.union(row, {"enforcementAction": "warn"}) | some row in rows}, "warn") with input as _deletion
	count(warned) == 6
}

test_a_denial_names_the_policies_at_fault_that_the_guardrail_names if {
	cors := "example.com/ColorPolicy/shop/cors"
	row := {"constraint": "c", "object": testing.cart_route, "message": "m", "enforcementAction": "deny", "details": {"policies": [cors]}}
	[text, _] := admission._listed({row}, "deny") with input as _deletion
	text == "[c] HTTPRoute/shop/cart: m (because of ColorPolicy/shop/cors)"
}

test_the_objects_below_a_changed_policy_are_judged_again if {
	change := {"keys": ["example.com/ColorPolicy/infra/dark"], "was": {}, "wanted": {"guarded": {}}}
	found := v1.outdated.guarded with input as object.union(change, {"changes": {"upsert": array.concat(testing.world, [_dark])}})
	testing.cart_route in found
	"core/Service/shop/cart" in found
}

_kind(spec) := {"apiVersion": "policybridge.io/v1alpha1", "kind": "PolicyKind", "metadata": {"name": "color"}, "spec": spec}

_crd := {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "colors.example.com"}, "spec": {}}

_describing(operation, obj, old) := found if {
	written := {"DELETE": null, "CREATE": obj, "UPDATE": obj}[operation]
	kind := {"group": keys.group(obj.apiVersion), "kind": obj.kind}
	request := {"operation": operation, "kind": kind, "name": obj.metadata.name, "object": written, "oldObject": old}
	found := object.union(admission.remaining, {"change": admission.guarded_change}) with input as request
		with data.objects as testing.stored([_constraint("colors", {}), _kind({}), _crd])
}

test_a_change_of_a_description_of_policies_remains_for_a_comparison_of_states_and_counts_for_later_requests if {
	remaining := {"constraints": ["colors"], "describes": true}
	every operation, old in {"CREATE": null, "UPDATE": _kind({})} {
		changed := _kind({"kind": "Color"})
		_describing(operation, changed, old) == object.union(remaining, {"change": {"upsert": [changed]}})
	}
	_describing("DELETE", _kind({}), _kind({})) == object.union(remaining, {"change": {"delete": [keys.of(_kind({}))]}})
	_describing("UPDATE", _crd, _crd) == object.union(remaining, {"change": {"upsert": [_crd]}})
	not _describing("CREATE", _crd, null)
}

# Requests by which a policy is written that the bridge reads no further, or not as it is stored. Its kind is observed.
_writing(operation, obj, old) := {
	"operation": operation,
	"kind": {"group": "example.com", "version": keys.version(obj.apiVersion), "kind": "ColorPolicy"},
	"namespace": "shop",
	"name": "own",
	"object": obj,
	"oldObject": old,
}

_own(spec) := testing.color("shop", "own", 2, [testing.ref("HTTPRoute", "cart")], spec)

_observed := testing.policykind(object.union(object.remove(testing.color_kind, ["controllerName"]), {"mode": "Observe"}))

_versions_crd := testing.with_spec(testing.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "colorpolicies.example.com"), {
	"group": "example.com",
	"names": {"kind": "ColorPolicy", "plural": "colorpolicies"},
	"versions": [{"name": version, "served": true, "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {field: {"type": "string"}}}}}}} |
		some version, field in {"v1": "theme", "v1beta1": "tone"}
	],
})

_unread_messages(spec, request) := found if {
	objects := [obj | some obj in testing.world; obj.metadata.name != _observed.metadata.name]
	former := [request.oldObject | request.oldObject != null]
	all_objects := array.concat(array.concat(objects, former), [_observed, _versions_crd, _dark, _constraint("colors", spec)])
	stored := testing.stored(all_objects)
	kinds_there := kinds.active_kinds with data.objects as stored
	index_there := testing.stored_index(all_objects) with data.bridge_settings.bounds as {"leaves": 20}
	found := admission.guardrail_messages with input as request
		with data.objects as stored
		with data.index as index_there
		with data.kinds as kinds_there
		with data.bridge_settings.bounds as {"leaves": 20}
		with data.bridge.constraints.dispatch.policies as {"bridge.guardrails.required_policy"}
}

_wide := _own({"values": [number | some number in numbers.range(1, 30)]})

_leaving(spec) := object.union(_own(spec), {"metadata": {"finalizers": ["a.io/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}})

_unread_requests := {
	`apiVersion "example.com/v1beta1" has other fields than v1, which the bridge reads. Write the policy in that version`: _writing("CREATE", object.union(_own({"tone": "x"}), {"apiVersion": "example.com/v1beta1"}), null),
	"Policy has 33 values; at most 20 are allowed": _writing("CREATE", _wide, null),
	"its spec changes while it is being deleted": _writing("UPDATE", _leaving({"theme": "light"}), _leaving({"theme": "dark"})),
}

test_a_policy_that_the_request_does_not_show_is_denied_by_guardrails_of_its_kind if {
	hint := "; to admit what is not judged, set failurePolicy: Ignore in the Constraint"
	every why, request in _unread_requests {
		text := sprintf("[colors] ColorPolicy/shop/own is not judged: %s", [why])
		["deny", concat("", [text, hint])] in _unread_messages({}, request)
		["warn", text] in _unread_messages({"failurePolicy": "Ignore"}, request)
		_unread_messages({"parameters": {"kinds": ["example.com/TimeoutPolicy"]}}, request) == set()
	}
}

test_an_update_of_such_a_policy_that_leaves_its_spec_is_admitted if {
	every policy in [_wide, _leaving({"theme": "light"})] {
		labelled := object.union(policy, {"metadata": {"labels": {"a": "b"}}})
		_unread_messages({}, _writing("UPDATE", labelled, policy)) == set()
	}
}
