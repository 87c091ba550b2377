package checks.outside_access_test

import data.checks.outside_access

_is_fetching(rule) if {
	outside_access.fetching == {"a.rego"} with input as {"a.rego": concat("\n", ["package a", "", rule, ""])}
}

test_constant_schemas_fetch_nothing if {
	every rule in [
		`x := json.match_schema(input, {"type": "object", "enum": [1, true, null, {"a": {}}]})`,
		"x if {\n\tjson.match_schema(input.a, {}, y)\n\ty[0]\n}",
		`x := [y | some z in input; y := json.match_schema(z, {"items": {}})[0]]`,
		`x := "json.verify_schema"`,
	] {
		not _is_fetching(rule)
	}
}

test_other_uses_of_schemas_fetch if {
	every rule in [
		`x := json.verify_schema({"$ref": "a"})`,
		`x := json.match_schema({}, {"allOf": [{"$ref": "a"}]})`,
		`x := json.verify_schema(input.a)`,
		`x := json.verify_schema("{}")`,
		`x := json.verify_schema({"a": input.b})`,
		`x := json.verify_schema({"a": [y | some y in input]})`,
		"x := json[\"verify\\u005fschema\"](input)",
		"x := y if { y := json.match_schema({}, {}); json.match_schema({}, input) }",
		"x := y if { y := count(input) with count as json.verify_schema }",
		"x := y if { every z in input { json.verify_schema(z) }; y := 1 }",
		"x(a) := json.verify_schema(a)",
	] {
		_is_fetching(rule)
	}
}

test_module_that_does_not_parse_may_fetch if {
	outside_access.fetching == {"a.rego"} with input as {"a.rego": "package a\n\nx :=\n", "b.rego": "package b\n\nx := 1\n"}
}
