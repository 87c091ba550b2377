# METADATA
# title: Evaluation
# description: |
#   The violations of Constraints by stored objects, and what is answered for those that cannot be evaluated. Every bundle
#   has this package.
package bridge.evaluation

import data.bridge.by_target
import data.bridge.constraints
import data.bridge.constraints.dispatch
import data.bridge.exemptions
import data.bridge.guardrail_parameters
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The policy judges effective targets instead of an object.
is_guardrail(policy) := startswith(policy, "bridge.guardrails.")

# METADATA
# description: |
#   The violations of Constraints with these `names` by the stored objects `object_keys`, as rows `{constraint, object,
#   enforcementAction, message, details}`. `object_keys` null means all objects of the kinds that a Constraint names.
violations(names, object_keys) := {row |
	some name in names
	spec := constraints.active_constraints[name]
	some key, it in _subjects(object.get(spec, "match", {}), object_keys)
	some row in _rows(name, it, key)
}

_rows(name, it, key) := _made(name, key, step.action, by_target.found(step.policy, step.parameters, _targets(key))) if {
	step := fixed_steps[name]
} else := {object.union(row, {"exemption": exempting | exempting := exemptions.of(constraints.active_constraints[name], it)}) |
	some row in _made(name, key, action(name, it), _found(name, _step(name, it), key))
}

_made(name, key, done, found) := {row |
	some [message, details] in found
	row := {"constraint": name, "object": key, "message": message, "details": details, "enforcementAction": done}
}

_step(name, it) := fixed_steps[name] if {
	true
} else := constraints.step(name, it)

# METADATA
# description: |
#   The steps of Constraints whose parameters and action are the same for all subjects. A rule, so OPA computes them once
#   for a query.
fixed_steps := {name: step |
	some name, spec in constraints.active_constraints
	not spec.parameterSelection
	not spec.exemptions
	not input.unjudged[name]
	constraints.fact(name, "parameters") == []
	constraints.is_loaded(spec.policy)
	step := {"policy": spec.policy, "parameters": object.get(spec, "parameters", {}), "action": object.get(spec, "enforcementAction", "deny")}
}

# The objects that a match selects, each as a subject. OPA computes them once for all Constraints with that match.
_subjects(match, object_keys) := {key: it |
	some key in _keys_to_judge(match, object_keys)
	it := constraints.subject(lookup.get(key))
	constraints.matches(match, it)
}

_keys_to_judge(match, null) := constraints.keys_matched(match)
_keys_to_judge(match, object_keys) := {key |
	some key in object_keys
	type := keys.type_of(key)
	not constraints.is_exempt(type)
	constraints.matches_type(match, type)
} if object_keys != null

# The violations by an object, `[message, details]`. Misspelled parameters may judge nothing. The query has the reasons why
# policies cannot be evaluated as `unjudged`.
_found(name, done, key) := {[sprintf("cannot be judged: %s", [why]), {"severity": "unknown"}]} if {
	why := input.unjudged[name]
	done.policy
} else := {[message, {"severity": "unknown"}] | some message in guardrail_parameters.problems[name]} if {
	guardrail_parameters.problems[name]
} else := by_target.found(done.policy, done.parameters, _targets(key)) if {
	true
} else := constraints.violations_of(done.policy, answer) if {
	policy := done.policy
	asked := object.union({"parameters": done.parameters}, _asked(is_guardrail(policy), key))
	answer := dispatch.violations[policy] with input as asked
} else := {[done.violation, {}]}

# The input of policies about a stored object, without parameters: its review in the form of Gatekeeper's audit (without
# operation, user and old object, which are unknown), the changes of the query, because a policy may read what is in
# effect, and for guardrails the effective targets. OPA computes it once for all of them.
_asked(of_guardrail, key) := object.union_n([
	{"review": {
		"kind": {"group": constraints.api_group(keys.group(obj.apiVersion)), "version": keys.version(obj.apiVersion), "kind": obj.kind},
		"name": obj.metadata.name,
		"namespace": object.get(obj.metadata, "namespace", ""),
		"object": obj,
	}},
	{"changes": changes | changes := input.changes},
	{"targets": targets | of_guardrail; targets := _targets(key)},
]) if {
	obj := lookup.get(key)
}

_targets(key) := data.bridge.effective_targets.judged[concat("/", [group, kind])][namespace][name] if {
	[group, kind, namespace, name] := split(key, "/")
}

# METADATA
# description: |
#   The action for a violation by a subject: the Constraint's, `exempt` if an exemption names the subject, and `warn` in
#   place of `deny` for what cannot be judged, unless its failurePolicy is `Fail`.
action(name, it) := "exempt" if {
	exemptions.of(constraints.active_constraints[name], it)
} else := "warn" if {
	input.unjudged[name]
	spec := constraints.active_constraints[name]
	constraints.action(spec) == "deny"
	object.get(spec, "failurePolicy", "Ignore") == "Ignore"
} else := constraints.action(constraints.active_constraints[name])
