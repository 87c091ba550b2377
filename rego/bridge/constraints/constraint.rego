# METADATA
# title: Constraints
# description: |
#   What a Constraint says of an object: whether it matches, with which parameters its policy is asked, and what the policy
#   answers. A policy is an admin's package with Gatekeeper's contract, rules `violation` over `input.review` and
#   `input.parameters`; the generated package `bridge.constraints.dispatch` leads to it.
package bridge.constraints

import data.bridge.constraints.dispatch
import data.bridge.lookup

# METADATA
# description: The type of Constraints.
type := "policybridge.io/Constraint"

# METADATA
# description: "Every Constraint by its name, in force or not."
all_constraints := lookup.objects_in(type, "-")

# METADATA
# description: |
#   The spec of each Constraint that makes sense, by its name. One whose policy is not loaded is among them: what it
#   matches is not let through unseen.
active_constraints[name] := obj.spec if {
	some name, obj in all_constraints
	not flawed_constraints[name]
}

# METADATA
# description: The names of Constraints that make no sense; they change nothing.
flawed_constraints contains name if {
	some name, obj in all_constraints
	count(problems(object.get(obj, "spec", null))) > 0
}

# METADATA
# description: The policy of this name is loaded.
is_loaded(policy) if policy in dispatch.policies

# METADATA
# description: What is done about a violation.
action(spec) := object.get(spec, "enforcementAction", "deny")
