package checks.rules_test

import data.checks.rules

head(text) := object.remove(one, {"path", "ref", "constant"}) if {
	some one in rules.heads with input as {"a.rego": concat("\n", ["package a", "", text])}
}

test_kinds_of_rules if {
	head("x := 1") == {"kind": "value", "arity": 0, "exclusive": true}
	head("f(_, _) := 1") == {"kind": "function", "arity": 2, "exclusive": true}
	head("x contains 1") == {"kind": "set", "arity": 0, "exclusive": false}
	head("x[1] := 2") == {"kind": "value", "arity": 0, "exclusive": true}
}

test_true_and_default_contradict_nothing if {
	not head("x if input.a").exclusive
	not head("f(_) if input.a").exclusive
	not head("default x := false").exclusive
	head("x := false if input.a").exclusive
	head("x if input.a else := false").exclusive
}

constants(lines) := {one.constant | some one in rules.heads with input as {"a.rego": concat("\n", array.concat(["package a", ""], lines))}}

test_equal_constants_have_one_text if {
	count(constants([`x := {"a": {1, "b"}, "type": [null, true]}`, `x = {"type": [null, true], "a": {"b", 1}} if input.y`])) == 1
	count(constants([`x := {1}`, `x := [1]`])) == 2
	not "" in constants([`f(_) := {1}`])
}

test_value_that_may_vary_is_no_constant if {
	every line in [
		"x := input.y",
		"x := [y | some y in input.ys]",
		"x := {z} if z := input.y",
		"x := count([])",
		"x := 1 if input.y else := 2",
		"x contains 1",
		sprintf("x := %v", [numbers.range(1, 3000)]),
	] {
		constants([line]) == {""}
	}
}

test_name_is_a_reference if {
	some one in rules.heads with input as {"a.rego": "package a\n\nx.y[z] := 1 if some z in input\n"}
	[term.value | some term in one.ref] == ["x", "y", "z"]
	[term.type | some term in one.ref] == ["var", "string", "var"]
}

test_module_that_cannot_be_parsed_has_none if {
	rules.heads == set() with input as {"a.rego": "package a\n\nx := \n"}
}
