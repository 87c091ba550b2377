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
		[[], "changes must be an object with upsert and delete"],
		[null, "changes must be an object with upsert and delete"],
		[{"upserts": []}, "changes has an unknown field, upserts; did you mean \"upsert\"?"],
		[{"upsert": "x"}, upsert],
		[{"upsert": [{"kind": "Service"}]}, upsert],
		[{"upsert": [null]}, upsert],
		[{"delete": "x"}, "changes.delete must be a list of keys"],
		[{"delete": ["Service/cart"]}, "changes.delete must be a list of keys"],
		[{"delete": ["core/Service/shop/cart#http"]}, "changes.delete must be a list of keys"],
		[{"upsert": array.concat(testing.world, testing.world)}, "changes.upsert has core/Namespace/-/infra twice"],
	] {
		_problem({"changes": row[0], "targets": []}) == _invalid(row[1])
	}
}

test_a_text_or_a_number_is_no_flag if {
	every flag in ["allPaths", "fields", "skipMissing", "staged"] {
		_problem({"targets": [], flag: "false"}) == _invalid(sprintf("%s must be true or false", [flag]))
		not _problem({"targets": [], flag: false})
	}
	violations := v1.violations with input as {"identified": 1}
	violations.error == _invalid("identified must be true or false")
	tree := v1.tree with input as {"refused": 0}
	tree.error == _invalid("refused must be true or false")
	status := v1.status with input as {"policies": [], "problems": "no"}
	status.error == _invalid("problems must be true or false")
	verify := v1.verify with input as {"targets": [], "everything": "false"}
	verify.error == _invalid("everything must be true or false")
	outcomes := v1.outcomes with input as object.union(testing.changed([]), {"policyKind": "example.com/ColorPolicy", "targets": [], "unmarked": "true"})
	outcomes.error == _invalid("unmarked must be true or false")
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

test_unknown_policies_and_objects_are_an_error_and_not_an_empty_answer if {
	gone := "example.com/ColorPolicy/shop/gone"
	every row in [
		["status", {"policies": [gone]}, {"code": "TargetNotFound", "message": sprintf("%s does not exist", [gone])}],
		["problems", {"objects": [gone]}, {"code": "TargetNotFound", "message": sprintf("%s does not exist", [gone])}],
		["status", {"policies": [testing.cart_route]}, {
			"code": "UnknownPolicyKind",
			"message": sprintf("%s is not a policy of an active kind; active kinds: example.com/ColorPolicy, example.com/TimeoutPolicy", [testing.cart_route]),
		}],
	] {
		[query, query_input, error] := row
		found := v1[query] with input as object.union(testing.changed([]), query_input)
		found.error == error
		skipping := v1[query] with input as object.union_n([testing.changed([]), query_input, {"skipMissing": true}])
		skipping == []
	}
}

test_a_field_of_another_form_is_an_error_that_explains_the_form if {
	keys_by_kind := "scopes must be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}"
	not_a_key := "warm is not a key: write <group>/<Kind>/<namespace>/<name>"
	every row in [
		[{"sourceNamespace": 1}, "policies", "sourceNamespace must be the name of a namespace"],
		[{}, "differences", keys_by_kind],
		[{"scopes": {"example.com/ColorPolicy": "all"}}, "watch_results", keys_by_kind],
		[{"targets": []}, "outcomes", "policyKind must name a policy kind, <group>/<Kind>"],
		[{"guessedType": 1}, "guessed", "guessedType must be a type, <group>/<Kind>"],
		[{"types": "core/Service"}, "names", "types must be a list of <group>/<Kind>"],
		[{"replicated": {}}, "writable_types", "replicated must be a list of <group>/<Kind>"],
		[{"policies": ["warm"]}, "scopes", not_a_key],
		[{"objects": ["warm"]}, "problems", not_a_key],
		[{"objects": ["warm"]}, "violations", not_a_key],
		[{"root": "warm"}, "tree", "root must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]"],
		[{"gateway": "core/Namespace/-/shop"}, "request", concat("", [
			"gateway must be the key of a Gateway, or of a mesh frontend, ",
			"<group>/<Kind>/<namespace>/<name>[@frontend]",
		])],
		[{"depth": 16}, "tree", "depth must be a whole number from 0 to 15"],
		[{"depth": -1}, "tree", "depth must be a whole number from 0 to 15"],
		[{"items": [["route", "core/Service/shop/cart"]]}, "reports", "items must be a list of pairs, [policy, <key>] or [object, <key>]"],
		[{"constraints": "all"}, "constraints", "constraints must be a list of names of Constraints"],
		[{"replicated": [1]}, "constraints", "replicated must be a list of types, <group>/<Kind>"],
		[{"namespaces": "shop"}, "audit_keys", "namespaces must be a list of names of namespaces"],
		[{"operation": "CREATE"}, "admission", "the input must be an AdmissionRequest, with operation and kind"],
		[{"objects": [], "reads": []}, "links", "links reads other fields now than reads has: query link_fields again"],
		[{"keys": "warm"}, "stale_facts", "keys must be a list of keys"],
	] {
		[query_input, query, message] := row
		found := v1[query] with input as query_input
		found.error.message == message
	}
}

test_an_unknown_field_is_an_error_with_the_nearest_name if {
	every row in [
		["effective", {"targets": [], "chnages": {}}, "chnages; did you mean \"changes\"?"],
		["effective", {"targets": [], "policykind": "example.com/ColorPolicy"}, "policykind; did you mean \"policyKind\"?"],
		["request", {"hosts": "blog.example.com"}, "hosts; did you mean \"host\"?"],
		["explain", {"target": "core/Service/shop/cart", "colour": 1}, "colour"],
		["tree", {"rot": "core/Service/shop/cart"}, "rot; did you mean \"root\"?"],
		["impact", {"policy": _slow_key, "limits": 1}, "limits; did you mean \"limit\"?"],
		["problems", {"object": []}, "object; did you mean \"objects\"?"],
		["status", {"policies": [], "polices": []}, "polices; did you mean \"policies\"?"],
		["violations", {"constraint": []}, "constraint; did you mean \"constraints\"?"],
	] {
		_answer(row[0], object.union(testing.changed([_slow]), row[1])).error == _invalid(sprintf("the input has an unknown field, %s", [row[2]]))
	}
}

_answer(query, document) := found if {
	found := data.bridge.v1[query] with input as document
}

test_misspelled_fields_of_queries_about_coverage_and_violations_are_an_error if {
	about := {"policyKind": "example.com/ColorPolicy", "targets": [], "changes": {"upsert": testing.world}}
	reaching := v1.uncovered with input as object.union(about, {"filed": "/theme"})
	covering := v1.coverable with input as object.union(about, {"namespaces": ["shop"]})
	comparing := v1.compared_violations with input as {"before": [], "afer": []}
	messages := [answer.error.message | some answer in [reaching, covering, comparing]]
	every index, text in ["unknown field, filed", "unknown field, namespaces", "unknown field, afer"] {
		contains(messages[index], text)
	}
}
