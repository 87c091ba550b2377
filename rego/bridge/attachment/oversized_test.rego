package bridge.attachment_test

import data.bridge.index
import data.bridge.kinds
import data.bridge.testing
import data.bridge.v1

_wide_key := "example.com/ColorPolicy/shop/wide"

_wide := testing.color("shop", "wide", 1, [testing.ref("HTTPRoute", "cart")], {"values": {sprintf("a%d", [number]): 1 | some number in numbers.range(1, 30)}})

_narrow := testing.color("shop", "narrow", 2, [testing.ref("HTTPRoute", "cart")], {"color": "red"})

_many := testing.color("shop", "wide", 1, [testing.ref("HTTPRoute", sprintf("r%d", [number])) | some number in numbers.range(1, 21)], {})

_bounds := {"leaves": 20, "targetRefs": 20}

# A query of the objects as they are stored, and of the same as a change.
_both_ways(query, query_input, objects) := [stored, changed] if {
	all_objects := array.concat(testing.world, objects)
	kinds_there := kinds.active_kinds with data.objects as testing.stored(all_objects)
	stored_index := testing.stored_index(all_objects) with data.bridge_settings.bounds as _bounds
	stored := _query(query) with input as query_input
		with data.objects as testing.stored(all_objects)
		with data.index as stored_index
		with data.kinds as kinds_there
		with data.bridge_settings.bounds as _bounds
	changed := _query(query) with input as object.union(query_input, testing.changed(objects))
		with data.bridge_settings.bounds as _bounds
}

_query("status") := v1.status

_query("explain") := v1.explain

_query("effective") := v1.effective

_query("concerned") := v1.dependents

_query("problems") := v1.problems

_message := "Policy has 33 values; at most 20 are allowed"

# T6
test_policy_above_a_bound_declares_no_target if {
	entries := index.entries(_wide) with data.bridge_settings.bounds as _bounds
	entries == {{"path": ["oversized", key], "value": _message} | some key in [_wide_key, testing.cart_route]}
}

test_index_names_a_policy_above_a_bound_at_few_of_its_targets if {
	entries := index.entries(_many) with data.bridge_settings.bounds as _bounds
	count(entries) == 18
	"core/Namespace/-/shop" in {entry.path[1] | some entry in entries}
	{entry.value | some entry in entries} == {"Policy has 21 targetRefs; at most 20 are allowed"}
}

test_policy_above_a_bound_is_not_accepted_with_bound_and_count if {
	every found in _both_ways("status", {"policies": [_wide_key]}, [_wide, _narrow]) {
		[[one.type, one.status, one.reason, one.message] | some one in found[0].conditions] == [["Accepted", "False", "Invalid", _message]]
	}
}

test_policy_above_a_bound_takes_no_part_in_an_effective_policy if {
	every found in _both_ways("effective", {"targets": [testing.cart_pay]}, [_wide, _narrow]) {
		[policy.policy | some policy in found[0].paths[0].policies] == ["example.com/ColorPolicy/shop/narrow"]
	}
}

test_explain_names_a_policy_above_a_bound if {
	every found in _both_ways("explain", {"target": testing.cart_pay}, [_wide]) {
		found[0].paths == []
		found[0].attachments == [{"policy": _wide_key, "target": testing.cart_route, "reason": "Invalid", "message": _message}]
	}
}

test_policy_above_a_bound_is_a_problem if {
	every found in _both_ways("problems", {}, [_many]) {
		[[problem.reason, problem.message] | some problem in found; problem.subject == _wide_key] == [["Invalid", "Policy has 21 targetRefs; at most 20 are allowed"]]
	}
}

test_change_of_a_policy_above_a_bound_concerns_only_its_status if {
	every found in _both_ways("concerned", {"keys": [_wide_key], "was": {}}, [_wide, _narrow]) {
		found.scopes == {}
		found.policies == [_wide_key]
	}
}
