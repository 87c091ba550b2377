package bridge.guardrails_test

import data.bridge.effective_targets
import data.bridge.guardrails.bounded_field
import data.bridge.guardrails.field_owner
import data.bridge.guardrails.no_policy_without_effect
import data.bridge.guardrails.no_weakening
import data.bridge.guardrails.required_policy
import data.bridge.guardrails.same_value

_jwt := "example.com/SecurityPolicy/infra/jwt"

_public := "gateway.networking.k8s.io/Gateway/infra/public"

_internal := "gateway.networking.k8s.io/Gateway/infra/internal"

_service := "core/Service/shop/cart"

_secured := {"example.com/SecurityPolicy": {
	"spec": {"jwt": {"issuer": "a"}, "timeout": "30s"},
	"origins": {"/jwt/issuer": _jwt, "/timeout": _jwt},
}}

_target(policies) := {
	"target": _service,
	"path": [_public, _service],
	"gateway": _public,
	"hostnames": {"shop.example.com", "shop.internal"},
	"policies": policies,
}

_kinds := {"example.com/SecurityPolicy": {}}

_unknown := {"example.com/SecurityPolicy": {"unknown": "more than 512 policies meet here"}}

_messages(found) := {one.message | some one in found}

_required := {"kinds": ["example.com/SecurityPolicy"], "internalHostnames": ["*.internal"]}

test_a_required_policy_is_in_effect if {
	every field in ["", "/jwt", "/jwt/issuer"] {
		found := required_policy.violations_at(_target(_secured), object.union(_required, {"field": field}), []) with data.kinds as _kinds
		found == set()
	}
}

test_a_required_policy_is_missing if {
	found := required_policy.violations_at(_target({}), _required, []) with data.kinds as _kinds
	_messages(found) == {"no SecurityPolicy is in effect for shop.example.com"}
}

test_a_required_field_is_missing if {
	found := required_policy.violations_at(_target(_secured), object.union(_required, {"field": "/oidc"}), []) with data.kinds as _kinds
	_messages(found) == {"no SecurityPolicy with oidc is in effect for shop.example.com"}
}

test_a_required_field_of_one_policy_of_a_list if {
	listed := {"example.com/SecurityPolicy": {"spec": [{"jwt": {}}, {"oidc": 1}], "origins": {"/0": _jwt, "/1": _jwt}}}
	found := required_policy.violations_at(_target(listed), object.union(_required, {"field": "/oidc"}), []) with data.kinds as _kinds
	found == set()
	missing := required_policy.violations_at(_target(listed), object.union(_required, {"field": "/basic"}), []) with data.kinds as _kinds
	count(missing) == 1
}

test_internal_hostnames_need_no_policy if {
	target := object.union(_target({}), {"hostnames": {"shop.internal"}})
	found := required_policy.violations_at(target, _required, []) with data.kinds as _kinds
	found == set()
}

test_unknown_values_never_pass if {
	field := {"kind": "example.com/SecurityPolicy", "field": "/a"}
	required := required_policy.violations_at(_target(_unknown), _required, []) with data.kinds as _kinds
	bounded := bounded_field.violations_at(_target(_unknown), field, []) with data.kinds as _kinds
	owned := field_owner.violations_at(_target(_unknown), field, []) with data.kinds as _kinds
	same := same_value.violations_at(_target(_unknown), field, []) with data.kinds as _kinds
	every found in [required, bounded, owned, same] {
		{one.severity | some one in found} == {"unknown"}
	}
}

test_a_guardrail_without_its_parameters_never_passes if {
	found := required_policy.violations_at(_target(_secured), {}, []) with data.kinds as _kinds
	_messages(found) == {"parameters.kinds must be a list of policy kinds"}
}

_bounded(bounds) := found if {
	parameters := object.union({"kind": "example.com/SecurityPolicy", "field": "/timeout"}, bounds)
	found := bounded_field.violations_at(_target(_secured), parameters, []) with data.kinds as _kinds
}

test_a_field_within_its_bounds if {
	_bounded({"minimum": "1s", "maximum": "1m", "allowed": ["30s"], "required": true}) == set()
}

test_a_field_outside_of_its_bounds if {
	_messages(_bounded({"maximum": "10s"})) == {"timeout of SecurityPolicy must be at most 10s, not 30s"}
	_messages(_bounded({"minimum": "1h"})) == {"timeout of SecurityPolicy must be at least 1h, not 30s"}
	_messages(_bounded({"allowed": ["1s"]})) == {`timeout of SecurityPolicy must be one of ["1s"], not 30s`}
}

test_a_violation_names_the_policies_at_fault if {
	{one.policies | some one in _bounded({"maximum": "10s"})} == {[_jwt]}
	{one.policies | some one in _bounded({"field": "/other", "required": true})} == set()
	without := required_policy.violations_at(_target(_outcomes), object.union(_required, {"field": "/oidc"}), []) with data.kinds as _kinds
	{one.policies | some one in without} == {{_jwt}}
	reported := effective_targets.reported(_target({}), {"message": "no", "policies": {_jwt}})
	reported.details.policies == [_jwt]
}

_outcomes := {"example.com/SecurityPolicy": object.union(_secured["example.com/SecurityPolicy"], {"outcomes": {_jwt: "Programmed", "example.com/SecurityPolicy/shop/lost": "Overridden"}})}

test_a_field_without_any_bound_is_unknown if {
	every bounds in [{}, {"required": false}] {
		{[one.message, one.severity] | some one in _bounded(bounds)} == {["parameters: minimum, maximum, allowed or required is missing", "unknown"]}
	}
}

test_a_kind_that_does_not_exist_may_be_one_of_several if {
	either := object.union(_required, {"kinds": ["example.com/Other", "example.com/SecurityPolicy"]})
	met := required_policy.violations_at(_target(_secured), either, []) with data.kinds as _kinds
	met == set()
	unmet := required_policy.violations_at(_target({}), either, []) with data.kinds as _kinds
	_messages(unmet) == {"parameters: unknown policy kind example.com/Other"}
}

test_a_field_that_cannot_be_compared_is_outside if {
	count(_bounded({"maximum": "much"})) == 1
}

test_a_bounded_field_that_is_not_set if {
	_bounded({"field": "/other", "maximum": 1}) == set()
	_messages(_bounded({"field": "/other", "required": true})) == {"other of SecurityPolicy is not in effect"}
}

_owned(namespaces) := found if {
	parameters := {"kind": "example.com/SecurityPolicy", "field": "/jwt", "namespaces": namespaces}
	found := field_owner.violations_at(_target(_secured), parameters, []) with data.kinds as _kinds
}

test_a_field_of_a_permitted_namespace if {
	_owned(["inf*"]) == set()
	_messages(_owned(["shop"])) == {"jwt.issuer is set by SecurityPolicy/infra/jwt, which is in namespace infra"}
}

test_a_policy_without_effect if {
	conditions := [{"type": "Programmed", "status": "False", "reason": "Overridden", "message": "Overridden on 2 paths"}]
	found := no_policy_without_effect.violations_at({"target": _jwt, "conditions": conditions}, {}, [])
	_messages(found) == {"Overridden on 2 paths"}
}

test_one_value_through_all_gateways if {
	parameters := {"kind": "example.com/SecurityPolicy", "field": "/timeout"}
	first := _target(_secured)
	other := object.union(_target({}), {"gateway": _internal, "path": [_internal, _service]})
	found := same_value.violations_at(other, parameters, [first, other]) with data.kinds as _kinds
	_messages(found) == {"timeout of SecurityPolicy is not set, and 30s via Gateway/infra/public"}
	same := same_value.violations_at(first, parameters, [first, other]) with data.kinds as _kinds
	same == set()
}

_weakened(before, parameters) := found if {
	found := no_weakening.violations_at(object.union(_target({}), {"before": before}), parameters, []) with data.kinds as _kinds
}

test_a_field_that_is_no_longer_in_effect if {
	_messages(_weakened(_secured, {"kinds": ["example.com/SecurityPolicy"]})) == {"fields of SecurityPolicy/infra/jwt are no longer in effect: jwt.issuer, timeout"}
	_messages(_weakened(_secured, {"kinds": ["example.com/SecurityPolicy"], "fields": ["/timeout"]})) == {"fields of SecurityPolicy/infra/jwt are no longer in effect: timeout"}
}

test_without_a_change_nothing_is_weakened if {
	found := no_weakening.violations_at(_target({}), {"kinds": ["example.com/SecurityPolicy"]}, []) with data.kinds as _kinds
	found == set()
}

test_every_value_of_policies_that_all_apply_is_within_bounds if {
	all_apply := {"example.com/SecurityPolicy": {"spec": [{"limit": 1}, {"limit": 9}], "origins": {"/0": _jwt, "/1": _jwt}}}
	found := bounded_field.violations_at(_target(all_apply), {"kind": "example.com/SecurityPolicy", "field": "/limit", "maximum": 5}, []) with data.kinds as _kinds
	_messages(found) == {"limit of SecurityPolicy must be at most 5, not 9"}
}

_denials(names) := {"example.com/SecurityPolicy": {
	"spec": [{"action": "Deny", "paths": [name]} | some name in names],
	"origins": {sprintf("/%d", [place]): sprintf("example.com/SecurityPolicy/infra/%s", [name]) | some place, name in names},
}}

test_each_policy_of_those_that_all_apply_stays_in_effect if {
	former := {"before": _denials(["admin", "debug"])}
	weakened := [_messages(found) |
		some names in [["admin"], ["debug", "admin", "third"], ["admin", "renamed"], []]
		found := no_weakening.violations_at(object.union(_target(_denials(names)), former), {"kinds": ["example.com/SecurityPolicy"]}, []) with data.kinds as _kinds
	]
	weakened == [
		{"fields of SecurityPolicy/infra/debug are no longer in effect: action, paths"},
		set(),
		set(),
		{"fields of SecurityPolicy/infra/admin are no longer in effect: action, paths", "fields of SecurityPolicy/infra/debug are no longer in effect: action, paths"},
	]
}

test_a_misspelled_kind_or_field_is_unknown if {
	no_kind := "parameters: unknown policy kind example.com/SecurtyPolicy"
	no_field := "parameters: the field must be a JSON pointer such as /a/b, not timeout"
	wrong := [
		[{"kind": "example.com/SecurtyPolicy", "kinds": ["example.com/SecurtyPolicy"], "field": "/timeout", "fields": ["/timeout"]}, no_kind],
		[{"kind": "example.com/SecurityPolicy", "kinds": ["example.com/SecurityPolicy"], "field": "timeout", "fields": ["timeout"]}, no_field],
	]
	every case in wrong {
		bounded := bounded_field.violations_at(_target(_secured), case[0], []) with data.kinds as _kinds
		owned := field_owner.violations_at(_target(_secured), case[0], []) with data.kinds as _kinds
		same := same_value.violations_at(_target(_secured), case[0], []) with data.kinds as _kinds
		required := required_policy.violations_at(_target({}), case[0], []) with data.kinds as _kinds
		weakened := no_weakening.violations_at(_target(_secured), case[0], []) with data.kinds as _kinds
		every found in [bounded, owned, required, same, weakened] {
			{"message": case[1], "severity": "unknown"} in found
		}
	}
}

# A kind that takes each entry of `limits` whole, merges `rules` by `id`, and has sizes of NGINX.
_limits := {"example.com/LimitPolicy": {
	"rules": [
		{"segments": ["limits", "*"], "how": "unit", "field": ""},
		{"segments": ["rules"], "how": "key", "field": "id"},
	],
	"quantities": [{"segments": ["body"], "type": "NginxSize", "zero": "Unlimited"}],
	"places": [
		{"path": "/spec/overrides", "segments": ["spec", "overrides"]},
		{"path": "/spec", "segments": ["spec"]},
	],
}}

_base := "example.com/LimitPolicy/infra/base"

_own := "example.com/LimitPolicy/shop/own"

_limited := {"example.com/LimitPolicy": {
	"spec": {
		"limits": {"all": {"rates": [{"limit": 5}], "per": "user"}},
		"rules": [{"id": "a", "wait": "10s"}, {"id": "b", "wait": "0s"}],
		"mode": "off",
		"body": "10m",
	},
	"origins": {
		"/limits/all": _base,
		"/rules/0/id": _base,
		"/rules/0/wait": _base,
		"/rules/1/id": _own,
		"/rules/1/wait": _own,
		"/mode": _own,
		"/body": _base,
		"/auth": _own,
	},
}}

_judged(guardrail, policies, parameters) := found if {
	guardrail == "bounded"
	found := bounded_field.violations_at(_target(policies), _of_limits(parameters), []) with data.kinds as _limits
}

_judged(guardrail, policies, parameters) := found if {
	guardrail == "required"
	found := required_policy.violations_at(_target(policies), object.union({"kinds": ["example.com/LimitPolicy"]}, parameters), []) with data.kinds as _limits
}

_judged(guardrail, policies, parameters) := found if {
	guardrail == "owned"
	found := field_owner.violations_at(_target(policies), _of_limits(parameters), []) with data.kinds as _limits
}

_judged(guardrail, policies, parameters) := found if {
	guardrail == "kept"
	changed := object.union(_target(policies), {"before": _limited})
	found := no_weakening.violations_at(changed, object.union({"kinds": ["example.com/LimitPolicy"]}, parameters), []) with data.kinds as _limits
}

_of_limits(parameters) := object.union({"kind": "example.com/LimitPolicy"}, parameters)

test_a_field_inside_of_a_unit_is_in_effect if {
	_judged("required", _limited, {"field": "/limits/all/rates"}) == set()
	count(_judged("required", _limited, {"field": "/limits/all/counters"})) == 1
	_messages(_judged("owned", _limited, {"field": "/limits/all/per", "namespaces": ["shop"]})) == {
		"limits.all.per is set by LimitPolicy/infra/base, which is in namespace infra",
	}
}

test_a_field_that_a_null_removed_is_missing if {
	count(_judged("required", _limited, {"field": "/auth"})) == 1
	_judged("owned", _limited, {"field": "/auth", "namespaces": []}) == set()
}

test_items_of_a_list_are_judged_by_place_by_key_and_all if {
	_judged("bounded", _limited, {"field": "/rules/a/wait", "maximum": "10s"}) == set()
	every field, name in {"/rules/b/wait": "rules.b.wait", "/rules/1/wait": "rules[1].wait", "/rules/*/wait": "rules.b.wait"} {
		_messages(_judged("bounded", _limited, {"field": field, "maximum": "10s"})) == {sprintf(
			"%s of LimitPolicy must be at most 10s, not 0s, which is no limit",
			[name],
		)}
	}
	{one.policies | some one in _judged("bounded", _limited, {"field": "/rules/*/wait", "maximum": "10s"})} == {[_own]}
}

test_a_field_is_of_the_type_that_the_kind_describes if {
	_judged("bounded", _limited, {"field": "/body", "maximum": "1g"}) == set()
	_messages(_judged("bounded", _limited, {"field": "/body", "maximum": "1h"})) == {"body of LimitPolicy must be at most 1h, not 10m, and they are not of one type"}
	_messages(_judged("bounded", _limited, {"field": "/body", "maximum": "9m"})) == {"body of LimitPolicy must be at most 9m, not 10m"}
}

test_a_field_below_a_scalar_cannot_be_judged if {
	why := `mode.level of LimitPolicy cannot be judged: mode is "off", which has no fields`
	_messages(_judged("bounded", _limited, {"field": "/mode/level", "maximum": 1})) == {why}
	_messages(_judged("owned", _limited, {"field": "/mode/level", "namespaces": ["*"]})) == {why}
	count(_judged("required", _limited, {"field": "/mode/level"})) == 1
	_messages(_judged("kept", {}, {"fields": ["/mode/level"]})) == {`mode.level of example.com/LimitPolicy cannot be judged: mode is "off", which has no fields`}
}

test_values_that_a_unit_or_an_item_lost_are_weakened if {
	dropped := json.patch(_limited, [
		{"op": "remove", "path": ["example.com/LimitPolicy", "spec", "limits", "all", "per"]},
		{"op": "remove", "path": "example.com~1LimitPolicy/spec/rules/0"},
	])
	_messages(_judged("kept", dropped, {})) == {"fields of LimitPolicy/infra/base are no longer in effect: limits.all.per, rules.a.id, rules.a.wait"}
	_messages(_judged("kept", dropped, {"fields": ["/limits/all/per"]})) == {"fields of LimitPolicy/infra/base are no longer in effect: limits.all.per"}
	_judged("kept", dropped, {"fields": ["/rules/b"]}) == set()
}

# As where a policy has conditions that its kind does not model.
_in_part(policies, why) := {kind: {"unknown": why, "policies": [], "known": effect} | some kind, effect in policies}

_kept_after(before, after) := _messages(found) if {
	target := object.union(_target(after), {"before": before})
	found := no_weakening.violations_at(target, {"kinds": ["example.com/LimitPolicy"]}, []) with data.kinds as _limits
}

test_fields_that_are_lost_were_in_effect_as_far_as_it_is_known if {
	before := _in_part(_limited, "it has conditions")
	without := json.patch(_limited, [{"op": "remove", "path": "example.com~1LimitPolicy/spec/body"}])
	lost := {"fields of LimitPolicy/infra/base are no longer in effect: body"}
	_kept_after(before, without) == lost
	_kept_after(before, _in_part(without, "it has conditions")) == lost
	count(_kept_after(before, {})) == 2
	_kept_after(before, _limited) == set()
	_kept_after(before, _in_part(_limited, "it has conditions")) == set()
}

test_result_that_is_less_known_than_before_is_unknown if {
	_kept_after(_limited, _in_part(_limited, "it has conditions")) == {"example.com/LimitPolicy is unknown: it has conditions"}
	_kept_after(_in_part(_limited, "a"), _in_part(_limited, "b")) == {"example.com/LimitPolicy is unknown: b"}
}

test_nothing_is_kept_if_the_former_values_are_unknown if {
	before := {"example.com/LimitPolicy": {"unknown": "more than 512 policies meet here", "policies": []}}
	every after in [{}, _limited] {
		_kept_after(before, after) == {"example.com/LimitPolicy is unknown before the change: more than 512 policies meet here"}
	}
	_kept_after(before, before) == set()
}

test_a_pointer_into_the_policy_or_a_wrapper_is_misspelled if {
	wrong := {
		"/overrides/mode": "parameters: the field is a pointer into the effective policy, without /overrides: write /mode",
		"/spec/mode": "parameters: the field is a pointer into the effective policy, without /spec: write /mode",
		"/spec/overrides/mode": "parameters: the field is a pointer into the effective policy, without /spec/overrides: write /mode",
	}
	every field, message in wrong {
		_messages(_judged("bounded", _limited, {"field": field, "maximum": 1})) == {message}
		_messages(_judged("required", {}, {"field": field})) == {message}
		message in _messages(_judged("kept", _limited, {"fields": [field]}))
	}
	_judged("bounded", _limited, {"field": "/override", "maximum": 1}) == set()
}

_through(gateway, route, value) := object.union(
	_target({"example.com/SecurityPolicy": {
		"spec": {"timeout": value},
		"origins": {"/timeout": _jwt},
	}}),
	{"gateway": gateway, "path": [gateway, route, _service]},
)

test_every_pair_of_paths_through_gateways_has_one_value if {
	parameters := {"kind": "example.com/SecurityPolicy", "field": "/timeout"}
	ways := [_through(_public, "example.com/Route/shop/a", "5s"), _through(_public, "example.com/Route/shop/b", "7s"), _through(_internal, "example.com/Route/shop/a", "5s")]
	found := {way.path: _messages(violations) |
		some way in ways
		violations := same_value.violations_at(way, parameters, ways) with data.kinds as _kinds
	}
	found == {
		ways[0].path: set(),
		ways[1].path: {"timeout of SecurityPolicy is 7s, and 5s via Route/shop/a"},
		ways[2].path: {"timeout of SecurityPolicy is 5s, and 7s via Gateway/infra/public"},
	}
	one_gateway := array.slice(ways, 0, 2)
	alone := same_value.violations_at(ways[1], parameters, one_gateway) with data.kinds as _kinds
	alone == set()
}

_with_waits(gateway, waits) := {
	"target": _service,
	"path": [gateway, _service],
	"gateway": gateway,
	"hostnames": {"*"},
	"policies": {"example.com/LimitPolicy": {
		"spec": {"rules": [{"id": id, "wait": wait} | some [id, wait] in waits]},
		"origins": {"/rules/0/id": _base},
	}},
}

_different_waits(one, other) := _messages(found) if {
	ways := [_with_waits(_public, one), _with_waits(_internal, other)]
	parameters := {"kind": "example.com/LimitPolicy", "field": "/rules/*/wait"}
	found := same_value.violations_at(ways[1], parameters, ways) with data.kinds as _limits
}

test_each_item_has_one_value_on_every_path if {
	waits := [["a", "1s"], ["b", "9s"]]
	_different_waits(waits, array.reverse(waits)) == set()
	_different_waits(waits, [["a", "9s"], ["b", "1s"]]) == {concat("", [
		"rules[*].wait of LimitPolicy is 9s at rules.a.wait, 1s at rules.b.wait, ",
		"and 1s at rules.a.wait, 9s at rules.b.wait via Gateway/infra/public",
	])}
	_different_waits(waits, [["a", "1s"]]) == {"rules[*].wait of LimitPolicy is not set, and 9s at rules.b.wait via Gateway/infra/public"}
}

test_a_violation_of_one_item_is_not_that_of_another if {
	found := {one.field: one.extent | some one in _judged("bounded", _limited, {"field": "/rules/*/wait", "allowed": ["1s"]})}
	found == {"/rules/a/wait": {"allowed": `"10s"`}, "/rules/b/wait": {"allowed": `"0s"`}}
}

test_internal_hostnames_are_in_any_letter_case if {
	target := object.union(_target({}), {"hostnames": {"shop.internal"}})
	found := required_policy.violations_at(target, object.union(_required, {"internalHostnames": ["*.InterNal"]}), []) with data.kinds as _kinds
	found == set()
}
