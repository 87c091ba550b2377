package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

_problem(document) := found.error if {
	found := v1.effective with input as document
}

_invalid(message) := {"code": "InvalidInput", "message": message}

test_bad_changes_are_an_error if {
	upsert := "changes.upsert must be a list of objects with apiVersion, kind and metadata.name"
	every row in [
		[{"upsert": "x"}, upsert],
		[{"upsert": [{"kind": "Service"}]}, upsert],
		[{"upsert": [null]}, upsert],
		[{"delete": "x"}, "changes.delete must be a list of keys"],
		[{"delete": ["Service/cart"]}, "changes.delete must be a list of keys"],
		[{"upsert": array.concat(testing.world, testing.world)}, "changes.upsert holds core/Namespace/-/infra twice"],
	] {
		_problem({"changes": row[0], "targets": []}) == _invalid(row[1])
	}
}

test_a_policy_kind_that_is_none_is_an_error_that_names_the_active_kinds if {
	_problem(object.union(testing.changed([]), {"targets": [], "policyKind": "example.com/Foo"})) == {
		"code": "UnknownPolicyKind",
		"message": "example.com/Foo is not an active policy kind; active kinds: example.com/ColorPolicy, example.com/TimeoutPolicy",
	}
}

test_bad_targets_are_an_error if {
	missing := "targets must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]"
	every row in [
		[{}, _invalid(missing)],
		[{"targets": "x"}, _invalid(missing)],
		[{"targets": ["Service/cart"]}, _invalid("Service/cart is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>]")],
		[{"targets": ["Service/cart", "/", null]}, _invalid("Service/cart is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>]")],
		[{"targets": ["core/Service/shop/gone"]}, {"code": "TargetNotFound", "message": "core/Service/shop/gone does not exist"}],
	] {
		_problem(object.union(testing.changed([]), row[0])) == row[1]
	}
}

test_a_query_without_any_input_is_an_error if {
	v1.effective.error == _invalid("targets must be a list of keys, <group>/<Kind>/<namespace>/<name>[#<section>]")
}

test_bad_policies_are_an_error if {
	every row in [
		[{}, "policies must be a list of keys, <group>/<Kind>/<namespace>/<name>"],
		[{"policies": ["warm"]}, "warm is not a key: write <group>/<Kind>/<namespace>/<name>"],
		[{"policies": ["warm", "cold"]}, "warm is not a key: write <group>/<Kind>/<namespace>/<name>"],
	] {
		found := v1.status with input as row[0]
		found.error == _invalid(row[1])
	}
}
