# METADATA
# title: No policy without effect
# description: No policy may be overridden at all its targets. Its Constraint matches the policies' kinds.
package bridge.guardrails.no_policy_without_effect

violations contains {"message": condition.message, "severity": "low", "policies": {input.target}} if {
	some condition in input.conditions
	condition.reason == "Overridden"
}
