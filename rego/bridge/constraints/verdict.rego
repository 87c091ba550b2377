package bridge.constraints

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.schema
import data.bridge.lookup
import data.bridge.status as reporting

# The next step for a subject that the Constraint matches, with parameters for `it`: `{policy, parameters}` to evaluate
# the policy; `{violation}` or `{warning}`, a message without evaluation; undefined if nothing applies.
step(name, it) := {"policy": spec.policy, "parameters": parameters} if {
	spec := active_constraints[name]
	is_loaded(spec.policy)
	parameters := selection(spec, it).parameters
} else := {"violation": sprintf("policy %s is not loaded", [spec.policy])} if {
	spec := active_constraints[name]
	not is_loaded(spec.policy)
} else := {field: "no entry of parameterSelection matches"} if {
	field := {"deny": "violation", "warn": "warning"}[selection(active_constraints[name], it).unselected]
}

# The violations of a policy's result, as [message, details]: each violation in Gatekeeper's form, `{msg, details?}`. A
# result of another form counts as a violation too.
violations_of(policy, answer) := {_violation(policy, violation) | some violation in answer} if {
	type_name(answer) in {"set", "array"}
} else := {[sprintf("policy %s: violation is not a set of {msg, details} but %s", [policy, json.marshal(answer)]), {}]}

_violation(policy, violation) := [violation.msg, {field: value | some field, value in violation.details}] if {
	is_string(violation.msg)
} else := [sprintf("policy %s: a violation has no msg: %s", [policy, json.marshal(violation)]), {}]

# Types that no Constraint evaluates: those of the bridge itself, which users must always be able to fix.
is_exempt(type) if startswith(type, "policybridge.io/")

# The namespace of a subject is not stored yet, and the Constraint has a namespaceSelector.
unknown_namespace(name, it) if {
	it.namespace != ""
	not is_namespace(it)
	not lookup.get(keys.format("", "Namespace", "", it.namespace))
	selects_by_namespace(name)
}

selects_by_namespace(name) if {
	spec := active_constraints[name]
	some part in array.concat([spec], object.get(spec, "parameterSelection", []))
	object.get(part, ["match", "namespaceSelector"], {}) != {}
}

# The keys of the stored objects whose kind a Constraint names, or of all audited objects if it names none.
audit_keys(name) := keys_matched(object.get(active_constraints[name], "match", {}))

keys_matched(match) := {key |
	some object_type in lookup.types
	not is_exempt(object_type)
	matches_type(match, object_type)
	some key in lookup.keys_of(object_type)
}

audit_keys_in(name, namespaces) := {key |
	some key in audit_keys(name)
	_namespace_of(keys.parse(key)) in namespaces
}

_namespace_of(parts) := parts.name if parts.type == "core/Namespace"
_namespace_of(parts) := parts.namespace if parts.type != "core/Namespace"

# All problems of a Constraint's spec, in a stable order: those by the schema of the CRD, then those that an API server
# finds by the CRD's validation rules. An expression has values for operators that compare, and none for the others.
problems(spec) := array.flatten([
	schema.problems("Constraint", spec),
	["onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches" |
		object.get(spec, "parameterSelection", []) == []
		object.get(spec, "onParameterSelectionNoMatch", "proceed") != "proceed"
	],
	[sprintf("%s.%s.matchExpressions[%d]: operator %s needs %s", [path, field, index, expression.operator, needed]) |
		some [path, match] in array.concat(
			[["match", spec.match] | spec.match],
			[[sprintf("%s[%d].match", [list, place]), entry.match] | some list in ["parameterSelection", "exemptions"]; some place, entry in spec[list]],
		)
		some field in ["labelSelector", "namespaceSelector"]
		some index, expression in match[field].matchExpressions
		needed := _needed_values(expression.operator)
		needed != _given_values(object.get(expression, "values", []))
	],
])

_needed_values(operator) := "values" if operator in {"In", "NotIn"}
_needed_values(operator) := "no values" if not operator in {"In", "NotIn"}

_given_values([]) := "no values"
_given_values(values) := "values" if values != []

# The condition Accepted of a Constraint: whether it is valid and its policy is loaded. `replicated` are the types that
# the audit covers, null for all; the message lists the types that the Constraint names and the audit does not cover.
accepted(name, replicated, counted) := reporting.with_generation(concat("/", [type, "-", name]), object.union(
	{"type": "Accepted", "status": _status(reason)},
	{"reason": reason, "message": message},
)) if {
	[reason, message] := _acceptance(name, replicated, counted)
}

_status("Accepted") := "True"
_status(reason) := "False" if reason != "Accepted"

_acceptance(name, replicated, counted) := ["Invalid", concat("; ", wrong)] if {
	wrong := problems(object.get(all_constraints[name], "spec", null))
	wrong != []
} else := ["PolicyNotFound", policy_missing(spec.policy, action(spec))] if {
	spec := active_constraints[name]
	not is_loaded(spec.policy)
} else := ["InvalidParameters", concat("; ", parameter_problems[name])] if {
	true
} else := ["NeverMatches", concat("; ", wrong)] if {
	wrong := unreachable(active_constraints[name])
	wrong != []
} else := ["Accepted", concat("; ", array.flatten(["Constraint is active", unaudited, remarks]))] if {
	remarks := exemption_remarks(active_constraints[name], counted)
	unaudited := [sprintf("not audited, because not replicated (setting types): %s", [concat(", ", missing)]) |
		missing := sort(_not_replicated(name, replicated))
		missing != []
	]
}

policy_missing(policy, done) := sprintf("policy %s is not loaded, or has no rule %s. Until it is, %s", [policy, rule, _meanwhile[done]]) if {
	rule := _rule_of(policy)
}

_rule_of(policy) := "violations" if is_guardrail(policy)
_rule_of(policy) := "violation" if not is_guardrail(policy)

_meanwhile := {
	"deny": "matching objects are denied",
	"warn": "matching objects cause warnings",
	"dryrun": "matching objects are reported as violations",
}

_not_replicated(name, replicated) := {concat("/", [keys.group_name(group), kind]) |
	replicated != null
	some entry in active_constraints[name].match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	not "*" in {group, kind}
} - union({{object_type | some object_type in replicated}, lookup.types, kinds.names})

# The report on a Constraint; `unaudited` are the types that it names and that are not replicated. If it is active, it
# includes violations if they were `counted`, `{total, first, exempted}`: `exempted` by the number of their exemption.
report(name, replicated, counted) := object.union_n([
	{
		"constraint": name,
		"policy": object.get(spec, "policy", ""),
		"enforcementAction": action(spec),
		"condition": accepted(name, replicated, counted),
		"exemptions": [text | some text in exemption_remarks(active_constraints[name], counted)],
		"unaudited": sort(_not_replicated(name, replicated)),
	},
	{field: value |
		counted != null
		active_constraints[name]
		some field, value in {
			"totalViolations": counted.total,
			"violations": [_status_entry(violation) | some violation in counted.first],
		}
	},
	{"exemptedViolations": number | active_constraints[name].exemptions; number := sum([one | some one in counted.exempted])},
]) if spec := object.get({"": all_constraints[name].spec | is_object(all_constraints[name].spec)}, "", {})

_status_entry(violation) := {
	"group": keys.api_group(parts.group),
	"kind": parts.kind,
	"namespace": keys.namespace(violation.object),
	"name": parts.name,
	"enforcementAction": violation.enforcementAction,
	"message": violation.message,
} if parts := keys.parse(violation.object)
