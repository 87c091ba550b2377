package bridge.constraints

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   What is to be done about a subject that a Constraint matches, with parameters for `it`: `{policy, parameters}`, which the
#   policy is asked with; `{violation}` or `{warning}`, a message without asking; undefined where nothing is to be done.
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
#   What is said where a policy has answered, as [message, details]: each violation of Gatekeeper's form, `{msg, details?}`.
#   An answer of another form is violations_of as a violation too, for it was meant as one.
violations_of(policy, answer) := {[message, details] |
	some violation in answer
	[message, details] := _violation(policy, violation)
} if {
	_is_many(answer)
} else := {[sprintf("policy %s: violation is no set of {msg, details} but %s", [policy, json.marshal(answer)]), {}]}

_is_many(answer) if is_set(answer)

_is_many(answer) if is_array(answer)

_violation(policy, violation) := [violation.msg, object.get(violation, "details", {})] if {
	is_string(violation.msg)
} else := [sprintf("policy %s: a violation has no msg: %s", [policy, json.marshal(violation)]), {}]

# METADATA
# description: |
#   Objects that no Constraint judges: those of the bridge itself, which must stay mendable whatever a Constraint says.
is_exempt(type) if startswith(type, "policybridge.io/")

# METADATA
# description: |
#   The namespace of a subject is not held yet, and the Constraint goes by labels of namespaces.
unknown_namespace(name, it) if {
	it.namespace != ""
	not is_namespace(it)
	not lookup.get(keys.format("", "Namespace", "", it.namespace))
	selects_by_namespace(name)
}

# METADATA
# description: A Constraint goes by labels of namespaces.
selects_by_namespace(name) if {
	some match in _matches_of(active_constraints[name])
	object.get(match, "namespaceSelector", {}) != {}
}

_matches_of(spec) := array.concat(
	[object.get(spec, "match", {})],
	[object.get(entry, "match", {}) | some entry in object.get(spec, "parameterSelection", [])],
)
