package bridge.effective_test

import data.bridge.effective
import data.bridge.kinds
import data.bridge.outcomes
import data.bridge.testing

# The world with ColorPolicies that all apply, by a field of theirs.
_additive(order, objects) := {"changes": {"upsert": array.concat(others, array.concat(
	[testing.policykind(object.union(plain, {"defaultStrategy": "Additive", "order": order}))],
	objects,
))}} if {
	others := [obj | some obj in testing.world; obj.kind != "PolicyKind"]
	plain := object.remove(testing.color_kind, ["specPaths", "strategies"])
}

_additive_paths(order, objects) := found if {
	found := effective.explanations("example.com/ColorPolicy", testing.cart_pay, "") with input as _additive(order, objects)
}

_on_gateway(name, minute, spec) := testing.color("infra", name, minute, [testing.ref("Gateway", "public")], spec)

_on_route(name, minute, spec) := testing.color("shop", name, minute, [testing.ref("HTTPRoute", "cart")], spec)

# C4
test_every_policy_of_an_additive_kind_is_an_item_of_the_effective_policy if {
	[path] := _additive_paths([{"path": "/spec/rank"}], [_on_gateway("a", 2, {"rank": 2}), _on_gateway("b", 1, {"rank": 2}), _on_route("c", 3, {"rank": 1})])
	path.spec == [{"rank": 1}, {"rank": 2}, {"rank": 2}]
	path.origins == {
		"/0": "example.com/ColorPolicy/shop/c",
		"/1": "example.com/ColorPolicy/infra/b",
		"/2": "example.com/ColorPolicy/infra/a",
	}
	{policy.outcome | some policy in path.policies} == {"Programmed"}
	path.steps == []
}

# C4, P4
test_a_policy_at_two_places_of_a_path_is_one_item if {
	twice := testing.color("shop", "twice", 1, [testing.ref("HTTPRoute", "cart"), testing.section_ref("HTTPRoute", "cart", "pay")], {"color": "red"})
	[path] := _additive_paths([{"path": "/spec/rank"}], [twice])
	path.spec == [{"color": "red"}]
	count(path.policies) == 1
}

# C4
test_an_order_places_values_defaults_and_numbers if {
	every row in [
		[{"values": ["DENY", "ALLOW"]}, ["deny", "allow", "none"]],
		[{"values": ["DENY", "ALLOW"], "default": "DENY"}, ["none", "deny", "allow"]],
		[{}, ["allow", "deny", "none"]],
		[{"path": "/spec/rank"}, ["deny", "allow", "none"]],
		[{"path": "/spec/rank", "descending": true}, ["allow", "deny", "none"]],
		[{"path": "/spec/rank", "descending": true, "default": 1.5}, ["allow", "none", "deny"]],
		[{"path": "/spec/action", "descending": true}, ["none", "deny", "allow"]],
	] {
		[entry, names] := row
		objects := [
			_on_route("none", 1, {"name": "none"}),
			_on_route("deny", 2, {"name": "deny", "action": "DENY", "rank": 1}),
			_on_route("allow", 3, {"name": "allow", "action": "ALLOW", "rank": 2}),
		]
		[path] := _additive_paths([object.union({"path": "/spec/action"}, entry)], objects)
		[item.name | some item in path.spec] == names
	}
}

# C4
test_the_outcomes_of_an_additive_kind_are_programmed if {
	rows := outcomes.outcomes_at("example.com/ColorPolicy", testing.cart_pay) with input as _additive([{"path": "/spec/rank"}], [
		_on_gateway("a", 1, {"color": "red"}),
		_on_route("b", 2, {"color": "red"}),
	])
	[row.outcome | some row in rows] == ["Programmed", "Programmed"]
}

# C4
test_an_additive_kind_has_no_merge_settings if {
	every class, level in {"Direct": "Target", "Inherited": "Rule"} {
		base := {"group": "example.com", "kind": "ColorPolicy", "effectiveTarget": level, "defaultStrategy": "Additive"}
		kinds.problems(object.union(base, {"class": class})) == []
		kinds.problems(object.union(base, {"class": class, "sameLevel": "OlderEstablished"})) == []
		every fields in [
			{"sameLevel": "Conflict"},
			{"parentLevels": ["Gateway"]},
			{"merge": {"units": ["/a"]}},
			{"specPaths": [{"path": "/spec", "strategyPath": "/spec/strategy"}]},
			{"specPaths": [{"path": "/spec", "strategy": "PatchDefaults"}]},
			{"strategies": {"merge": "Patch"}},
		] {
			some problem in kinds.problems(object.union(base, object.union(fields, {"class": class})))
			startswith(problem, "strategy Additive merges nothing")
		}
	}
	some problem in kinds.problems({"group": "example.com", "kind": "ColorPolicy", "effectiveTarget": "Rule", "order": [{"path": "/spec/a"}]})
	startswith(problem, "order needs defaultStrategy Additive")
}
