# What the bridge generates for a guardrail, here for that of these tests.
package bridge.constraints.by_target

import data.bridge.effective_targets
import data.bridge.guardrails.no_weakening
import data.bridge.guardrails.required_policy

names contains "bridge.guardrails.required_policy"

found("bridge.guardrails.required_policy", parameters, targets) := {[reported.msg, reported.details] |
	some target in targets
	some one in required_policy.violations_at(target, parameters, targets)
	reported := effective_targets.reported(target, one)
}

names contains "bridge.guardrails.no_weakening"

found("bridge.guardrails.no_weakening", parameters, targets) := {[reported.msg, reported.details] |
	some target in targets
	some one in no_weakening.violations_at(target, parameters, targets)
	reported := effective_targets.reported(target, one)
}
