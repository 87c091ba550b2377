package bridge.constraints

import data.bridge.constraints.dispatch
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.schema
import data.bridge.lookup
import data.bridge.status as reporting

# The next step for a subject that the Constraint matches, with parameters for `it`: `{policy, parameters}` to evaluate
# the policy; `{violation}` or `{warning}`, a message without evaluation; undefined if nothing applies.
step(name, it) := {"violation": sprintf("policy %s is not loaded", [spec.policy])} if {
	spec := active_constraints[name]
	not is_loaded(spec.policy)
} else := {"policy": spec.policy, "parameters": parameters} if {
	spec := active_constraints[name]
	parameters := selection(spec, it).parameters
} else := {_result_fields[action_name]: "no entry of parameterSelection matches"} if {
	action_name := selection(active_constraints[name], it).unselected
}

_result_fields := {"deny": "violation", "warn": "warning"}

# The violations of a policy's result, as [message, details]: each violation in Gatekeeper's form, `{msg, details?}`. A
# result of another form counts as a violation too.
violations_of(policy, answer) := {[message, details] |
	some violation in answer
	[message, details] := _violation(policy, violation)
} if {
	_is_many(answer)
} else := {[sprintf("policy %s: violation is not a set of {msg, details} but %s", [policy, json.marshal(answer)]), {}]}

_is_many(answer) if is_set(answer)
_is_many(answer) if is_array(answer)

_violation(policy, violation) := [violation.msg, object.get(violation, "details", {})] if {
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
	some match in _matches_of(active_constraints[name])
	object.get(match, "namespaceSelector", {}) != {}
}

_matches_of(spec) := array.concat(
	[object.get(spec, "match", {})],
	[object.get(entry, "match", {}) | some entry in object.get(spec, "parameterSelection", [])],
)

# The violations of Constraints with these `names` by the stored objects `object_keys`, as rows `{constraint, object,
# enforcementAction, message, details}`. `object_keys` null means all objects of the kinds that a Constraint names.
violations(names, object_keys) := {violation |
	some name in names
	spec := active_constraints[name]
	some key in _keys_to_judge(name, object_keys)
	it := subject_of(key)
	matches(object.get(spec, "match", {}), it)
	some [message, details] in _violations_by(step(name, it), key)
	violation := {
		"constraint": name,
		"object": key,
		"enforcementAction": action(spec),
		"message": message,
		"details": details,
	}
}

# The keys of the stored objects whose kind a Constraint names, or of all audited objects if it names none.
audit_keys(name) := {key |
	match := object.get(active_constraints[name], "match", {})
	some object_type in lookup.types
	not is_exempt(object_type)
	matches_type(match, object_type)
	some key in lookup.keys_of(object_type)
}

audit_keys_in(name, namespaces) := {key |
	some key in audit_keys(name)
	parts := keys.parse(key)
	_within(parts) in namespaces
}

_within(parts) := parts.name if parts.type == "core/Namespace"
_within(parts) := parts.namespace if parts.type != "core/Namespace"

_keys_to_judge(name, null) := audit_keys(name)
_keys_to_judge(name, object_keys) := {key |
	some key in object_keys
	parts := keys.parse(key)
	not is_exempt(parts.type)
	matches_type(object.get(active_constraints[name], "match", {}), parts.type)
	lookup.get(key)
} if object_keys != null

_violations_by(done, _) := {[done.violation, {}]} if done.violation

_violations_by(done, key) := violations_of(done.policy, answer) if {
	policy := done.policy

	# With the changes of the query: a policy may read what is in effect.
	asked := object.union({"parameters": done.parameters, "review": _review(key)}, {"changes": changes | changes := input.changes})
	answer := dispatch.violations[policy] with input as asked
}

# The review of a stored object in the form of Gatekeeper's audit: without operation, user and old object, which are
# unknown.
_review(key) := {
	"kind": {"group": api_group(keys.group(obj.apiVersion)), "version": keys.version(obj.apiVersion), "kind": obj.kind},
	"name": obj.metadata.name,
	"namespace": object.get(obj.metadata, "namespace", ""),
	"object": obj,
} if obj := lookup.get(key)

# All problems of a Constraint's spec, in a stable order: those by the schema of the CRD, then those that an API server
# finds by the CRD's validation rules.
problems(spec) := array.flatten([schema.problems("Constraint", spec), _unused_action(spec), _expression_problems(spec)])

_unused_action(spec) := ["onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches"] if {
	object.get(spec, "parameterSelection", []) == []
	object.get(spec, "onParameterSelectionNoMatch", "proceed") != "proceed"
} else := []

# Values for operators that compare, none for the others.
_expression_problems(spec) := [sprintf("%s: operator %s needs %s", [place, expression.operator, needed]) |
	some [path, match] in _matches(spec)
	some field in ["labelSelector", "namespaceSelector"]
	some index, expression in match[field].matchExpressions
	needed := {true: "values", false: "no values"}[expression.operator in {"In", "NotIn"}]
	{true: "values", false: "no values"}[count(object.get(expression, "values", [])) > 0] != needed
	place := sprintf("%s.%s.matchExpressions[%d]", [path, field, index])
]

_matches(spec) := array.concat(
	[["match", spec.match] | spec.match],
	[[sprintf("parameterSelection[%d].match", [index]), entry.match] | some index, entry in spec.parameterSelection],
)

# The condition Accepted of a Constraint: whether it is valid and its policy is loaded. `replicated` are the types that
# the audit covers, null for all; the message lists the types that the Constraint names and the audit does not cover.
accepted(name, replicated) := reporting.with_generation(concat("/", [type, "-", name]), object.union(
	{"type": "Accepted"},
	_accepted(name, replicated),
))

_accepted(name, _) := {"status": "False", "reason": "Invalid", "message": concat("; ", wrong)} if {
	wrong := problems(object.get(all_constraints[name], "spec", null))
	count(wrong) > 0
} else := {"status": "False", "reason": "PolicyNotFound", "message": message} if {
	policy := active_constraints[name].policy
	not is_loaded(policy)
	message := policy_missing(policy, action(active_constraints[name]))
}

_accepted(name, replicated) := {"status": "True", "reason": "Accepted", "message": message} if {
	is_loaded(active_constraints[name].policy)
	message := concat("; ", array.concat(
		["Constraint is active"],
		[sprintf("not audited, because not replicated (setting types): %s", [concat(", ", missing)]) |
			missing := sort(_not_replicated(name, replicated))
			count(missing) > 0
		],
	))
}

policy_missing(policy, done) := sprintf("policy %s is not loaded, or has no rule violation: until then, %s", [policy, _meanwhile[done]])

_meanwhile := {
	"deny": "matching objects are denied",
	"warn": "matching objects cause warnings",
	"dryrun": "matching objects count as violations",
}

_not_replicated(_, null) := set()
_not_replicated(name, _) := set() if not active_constraints[name]

_not_replicated(name, replicated) := {concat("/", [keys.group_name(group), kind]) |
	some entry in active_constraints[name].match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	group != "*"
	kind != "*"
} - (({object_type | some object_type in replicated} | lookup.types) | kinds.names) if {
	replicated != null
	active_constraints[name]
}

_status_entry(violation) := {
	"group": api_group(parts.group),
	"kind": parts.kind,
	"namespace": keys.namespace(violation.object),
	"name": parts.name,
	"enforcementAction": violation.enforcementAction,
	"message": violation.message,
} if parts := keys.parse(violation.object)

# The report on a Constraint; `unaudited` are the types that it names and that are not replicated. It includes
# violations if they were counted: `counted` is `{total, first}`, their number and the first rows, or null.
report(name, replicated, counted) := object.union(
	{
		"constraint": name,
		"policy": object.get(spec, "policy", ""),
		"enforcementAction": action(spec),
		"condition": accepted(name, replicated),
		"unaudited": sort(_not_replicated(name, replicated)),
	},
	_violations_part(name, counted),
) if spec := object.get({"": all_constraints[name].spec | is_object(all_constraints[name].spec)}, "", {})

_violations_part(_, null) := {}

# A Constraint that is not active has no violations.
_violations_part(name, counted) := {} if {
	counted != null
	not active_constraints[name]
}

_violations_part(name, counted) := {
	"totalViolations": counted.total,
	"violations": [_status_entry(violation) | some violation in counted.first],
} if active_constraints[name]
