# What the bridge generates for a guardrail, here for that of these tests.
package bridge.constraints.dispatch

import data.bridge.effective_targets
import data.bridge.guardrails.required_policy

violations["bridge.guardrails.required_policy"] := {reported |
	some target in input.targets
	some found in required_policy.violations with input as object.union(input, target)
	reported := effective_targets.reported(target, found)
}
