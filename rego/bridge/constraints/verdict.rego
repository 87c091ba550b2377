package bridge.constraints

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The next step for a subject that the Constraint matches, with parameters for `it`: `{policy, parameters}` to
#   evaluate the policy; `{violation}` or `{warning}`, a message without evaluation; undefined if nothing applies.
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

# METADATA
# description: |
#   The violations of a policy's result, as [message, details]: each violation in Gatekeeper's form, `{msg, details?}`.
#   A result of another form counts as a violation too.
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

# METADATA
# description: |
#   Types that no Constraint evaluates: those of the bridge itself, which users must always be able to fix.
is_exempt(type) if startswith(type, "policybridge.io/")

# METADATA
# description: The namespace of a subject is not stored yet, and the Constraint has a namespaceSelector.
unknown_namespace(name, it) if {
	it.namespace != ""
	not is_namespace(it)
	not lookup.get(keys.format("", "Namespace", "", it.namespace))
	selects_by_namespace(name)
}

# METADATA
# description: A Constraint has a namespaceSelector.
selects_by_namespace(name) if {
	some match in _matches_of(active_constraints[name])
	object.get(match, "namespaceSelector", {}) != {}
}

_matches_of(spec) := array.concat(
	[object.get(spec, "match", {})],
	[object.get(entry, "match", {}) | some entry in object.get(spec, "parameterSelection", [])],
)
