# METADATA
# title: Evaluation
# description: |
#   How Constraints of guardrails are evaluated, and what is answered for those that cannot be. Every bundle has this
#   package.
package bridge.evaluation

import data.bridge.constraints
import data.bridge.exemptions
import data.bridge.lib.keys

# METADATA
# description: The policy judges effective targets instead of an object.
is_guardrail(policy) if startswith(policy, "bridge.guardrails.")

# METADATA
# description: The effective targets at an object, which guardrails judge; all of them the same, so OPA computes them once.
targets(key) := data.bridge.effective_targets.judged[parts.type][parts.namespace][parts.name] if parts := keys.parse(key)

# METADATA
# description: |
#   The violation, `[message, details]`, of a Constraint whose policy fails or takes too long: the query has the reason, by
#   its name, as `unjudged`. Undefined for others.
unjudged(name) := [sprintf("cannot be judged: %s", [why]), {"severity": "unknown"}] if why := input.unjudged[name]

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
