# METADATA
# title: Guardrails by target
# description: |
#   The guardrails that are functions of a target. They take no `input`, because `with input` drops what OPA has cached. The
#   bridge generates the rest of the package for those that are loaded.
package bridge.constraints.by_target

# METADATA
# description: |
#   The violations by targets of a guardrail with parameters, as `[message, details]`. Undefined for a policy that is no
#   such function. No policy has an empty name: with it, this and the sets below are defined without any guardrail.
found("", _, _) := set()

# METADATA
# description: The guardrails that are such functions.
names contains ""

# METADATA
# description: The guardrails of admins, also of the names of shipped ones.
own contains ""

# METADATA
# description: The JSON schemas of parameters that guardrails of admins declare, by policy; null for one that is not written out.
parameter_schemas[""] := {}

# METADATA
# description: |
#   The names of the parameters that guardrails of admins read, by policy. A guardrail whose Rego does not write out each
#   name (it passes all parameters on, or uses another author's Rego) is not among them.
mentions[""] := set()
