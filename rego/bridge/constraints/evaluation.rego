package bridge.constraints

import data.bridge.constraints.by_target
import data.bridge.constraints.dispatch
import data.bridge.effective_targets
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
	spec := active_constraints[name]
	some key, it in _subjects(object.get(spec, "match", {}), object_keys)
	some row in _rows(name, it, key)
}

_rows(name, it, key) := _made(name, key, step.action, by_target.found(step.policy, step.parameters, _targets(key))) if {
	step := fixed_steps[name]
} else := {object.union(row, {"exemption": exempting | exempting := exemption_of(active_constraints[name], it)}) |
	some row in _made(name, key, action_on(name, it), _found(name, _step(name, it), key))
}

_made(name, key, done, found) := {row |
	some [message, details] in found
	row := {"constraint": name, "object": key, "message": message, "details": details, "enforcementAction": done}
}

_step(name, it) := fixed_steps[name] if {
	true
} else := step(name, it)

# METADATA
# description: |
#   The steps of Constraints whose parameters and action are the same for all subjects. A rule, so OPA computes them once
#   for a query.
fixed_steps := {name: step |
	some name, spec in active_constraints
	not spec.parameterSelection
	not spec.exemptions
	not input.unjudged[name]
	not parameter_problems[name]
	is_loaded(spec.policy)
	step := {"policy": spec.policy, "parameters": object.get(spec, "parameters", {}), "action": object.get(spec, "enforcementAction", "deny")}
}

# The objects that a match selects, each as a subject. OPA computes them once for all Constraints with that match.
_subjects(match, object_keys) := {key: it |
	some key in _keys_to_judge(match, object_keys)
	it := subject(lookup.get(key))
	matches(match, it)
}

# METADATA
# description: Those of these stored objects that a Constraint matches.
matched_among(name, object_keys) := object.keys(_subjects(object.get(active_constraints[name], "match", {}), object_keys))

_keys_to_judge(match, null) := keys_matched(match)
_keys_to_judge(match, object_keys) := {key |
	some key in object_keys
	type := keys.type_of(key)
	not is_exempt(type)
	matches_type(match, type)
} if object_keys != null

# The violations by an object, `[message, details]`. Misspelled parameters may judge nothing. The query has the reasons why
# policies cannot be evaluated as `unjudged`.
_found(name, done, key) := {[sprintf("cannot be judged: %s", [why]), {"severity": "unknown"}]} if {
	why := input.unjudged[name]
	done.policy
} else := {[message, {"severity": "unknown"}] | some message in parameter_problems[name]} if {
	parameter_problems[name]
	is_loaded(active_constraints[name].policy)
} else := by_target.found(done.policy, done.parameters, _targets(key)) if {
	true
} else := violations_of(done.policy, answer) if {
	policy := done.policy
	asked := object.union({"parameters": done.parameters}, _asked(is_guardrail(policy), key))
	answer := dispatch.violations[policy] with input as asked
} else := {[done.violation, {}]}

# The input of policies about a stored object, without parameters: its review in the form of Gatekeeper's audit (without
# operation, user and old object, which are unknown), the changes of the query, because a policy may read what is in
# effect, and for guardrails the effective targets. OPA computes it once for all of them.
_asked(of_guardrail, key) := object.union_n([
	{"review": {
		"kind": {"group": keys.api_group(keys.group(obj.apiVersion)), "version": keys.version(obj.apiVersion), "kind": obj.kind},
		"name": obj.metadata.name,
		"namespace": object.get(obj.metadata, "namespace", ""),
		"object": obj,
	}},
	{"changes": changes | changes := input.changes},
	{"targets": targets | of_guardrail; targets := _targets(key)},
]) if {
	obj := lookup.get(key)
}

_targets(key) := effective_targets.judged[concat("/", [group, kind])][namespace][name] if {
	[group, kind, namespace, name] := split(key, "/")
}

# METADATA
# description: |
#   The action for a violation by a subject: the Constraint's, `exempt` if an exemption names the subject, and
#   `unjudged_action` for what cannot be judged.
action_on(name, it) := "exempt" if {
	exemption_of(active_constraints[name], it)
} else := unjudged_action(name) if {
	input.unjudged[name]
} else := action(active_constraints[name])

# METADATA
# description: |
#   The action for what a Constraint cannot judge: its own, or `warn` in place of `deny` if its failurePolicy is `Ignore`.
unjudged_action(name) := "warn" if {
	spec := active_constraints[name]
	action(spec) == "deny"
	object.get(spec, "failurePolicy", "Fail") == "Ignore"
} else := action(active_constraints[name])
