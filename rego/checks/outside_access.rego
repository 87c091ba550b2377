# METADATA
# scope: package
# title: Modules whose schemas OPA would fetch
# description: |
#   `json.match_schema` and `json.verify_schema` fetch each `$ref` of their schema, over the network or from a file. A
#   running OPA has no setting against that. The bridge evaluates this package in a separate process before it checks a
#   module; it is never part of a bundle.
# related_resources:
#   - https://www.openpolicyagent.org/docs/policy-reference#object
package checks.outside_access

import data.checks.parse

# METADATA
# description: The paths of the modules that use these functions other than in calls with a constant schema without references.
# entrypoint: true
fetching contains path if {
	some path, module in _parsed
	uses := [node | walk(module, [_, node]); _function(node)]
	count(uses) > count([node | walk(module, [_, node]); _is_safe_call(node)])
}

fetching contains path if {
	some path, _ in input
	not _parsed[path] # then it has not been checked
}

_parsed[path] := parse.module(path, module) if some path, module in input

# Which argument of a function is its schema.
_schema_arguments := {"match_schema": 2, "verify_schema": 1}

_function(node) := node.value[1].value if {
	node.type == "ref"
	node.value[0].value == "json"
	node.value[1].value in object.keys(_schema_arguments)
}

_is_safe_call(node) if {
	call := _call(node)
	count(call[0].value) == 2
	_is_constant(call[_schema_arguments[_function(call[0])]])
}

_call(node) := node.value if node.type == "call"
_call(node) := node.terms if is_array(node.terms) # a statement

_is_constant(term) if {
	term.type == "object"
	every node in [node | walk(term, [_, node]); is_object(node); node != {}] { # the value of null is {}
		node.type in {"object", "array", "string", "number", "boolean", "null"}
		node.value != "$ref"
	}
}
