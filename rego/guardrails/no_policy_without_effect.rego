# METADATA
# title: No policy without effect
# description: No policy may be overridden at all its targets. Its Constraint matches the policies' kinds.
package bridge.guardrails.no_policy_without_effect

violations_at(target, _, _) := {{"message": condition.message, "severity": "low", "policies": {target.target}, "extent": []} |
	some condition in target.conditions
	condition.reason == "Overridden"
}
