# METADATA
# title: Constraints
# description: |
#   The evaluation of a Constraint for an object: whether it matches, the parameters for its policy, and the policy's
#   result. A policy is an admin's package with Gatekeeper's contract, rules `violation` over `input.review` and
#   `input.parameters`; the generated package `bridge.constraints.dispatch` refers to it.
package bridge.constraints

import data.bridge.constraints.dispatch
import data.bridge.lookup

# METADATA
# description: The type of Constraints.
type := "policybridge.io/Constraint"

# METADATA
# description: Every Constraint by its name, active or not.
all_constraints := lookup.objects_in(type, "-")

# METADATA
# description: |
#   The spec of each valid Constraint, by its name, including those whose policy is not loaded: the objects that they
#   match are violations.
active_constraints[name] := obj.spec if {
	some name, obj in all_constraints
	not flawed_constraints[name]
}

# METADATA
# description: The names of invalid Constraints, which have no effect.
flawed_constraints contains name if {
	some name, obj in all_constraints
	count(problems(object.get(obj, "spec", null))) > 0
}

# METADATA
# description: The policy with this name is loaded.
is_loaded(policy) if policy in dispatch.policies

# METADATA
# description: The action for a violation.
action(spec) := object.get(spec, "enforcementAction", "deny")
