# METADATA
# scope: package
# title: Rules of modules, by their heads
# description: |
#   OPA lets several modules define rules of one name, and reports a contradiction between two of them only when it
#   evaluates both. The bridge evaluates this package in a separate process; it is never part of a bundle.
# related_resources:
#   - https://www.openpolicyagent.org/docs/policy-language#rules
package checks.rules

import data.checks.parse

# METADATA
# description: |
#   The rules of modules: `{path, ref, kind, arity, exclusive}`. `ref` are the terms of the name, each `{type, value}`;
#   `kind` is one of set, function and value. A rule that is `exclusive` has a value that another one can contradict:
#   neither a member of a set, nor always true, nor a default. `constant` is its value as text, "" if it may vary.
# entrypoint: true
heads contains {
	"path": path,
	"ref": rule.head.ref,
	"kind": _kind(rule.head),
	"arity": count(object.get(rule.head, "args", [])),
	"exclusive": _is_exclusive(rule),
	"constant": _constant(rule),
} if {
	some path, module in input
	some rule in parse.module(path, module).rules
}

_kind(head) := "function" if {
	head.args
} else := "value" if {
	head.value
} else := "set"

default _is_exclusive(_) := false

_is_exclusive(rule) if {
	_kind(rule.head) != "set"
	not rule["default"]
	not _is_always_true(rule)
}

_is_always_true(rule) if {
	rule.head.value == {"type": "boolean", "value": true}
	not rule["else"]
}

default _constant(_) := ""

_constant(rule) := text if {
	_kind(rule.head) != "set"
	not rule["else"]
	text := json.marshal(rule.head.value)
	count(text) <= _longest_constant # a walk of a large one takes seconds
	not _may_vary(rule.head.value)
}

_longest_constant := 65536

_may_vary(value) if {
	walk(value, [_, term])
	type := term.type
	not type in {"array", "boolean", "null", "number", "object", "set", "string"}
}
