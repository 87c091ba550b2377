package bridge.constraints

import data.bridge.lib.keys

# METADATA
# description: |
#   How a Constraint demands less after a change, as a sentence: `former` is the object before it, `latter` after it, null if
#   it is deleted. Undefined if it does not. What other parameters or another match let pass is found by judging with both.
relaxed(former, latter) := sprintf("%s is deleted, and its enforcementAction was %s", [keys.describe(keys.of(former)), action(former.spec)]) if {
	_is_enforced(former)
	latter == null
} else := sprintf("%s is no longer valid: %s", [keys.describe(keys.of(former)), problems(object.get(latter, "spec", null))[0]]) if {
	_is_enforced(former)
	problems(object.get(latter, "spec", null)) != []
} else := sprintf("%s has the enforcementAction %s in place of %s", [keys.describe(keys.of(former)), action(latter.spec), action(former.spec)]) if {
	_is_enforced(former)
	_ranks[action(latter.spec)] < _ranks[action(former.spec)]
} else := sprintf("%s has the policy %s in place of %s", [keys.describe(keys.of(former)), latter.spec.policy, former.spec.policy]) if {
	_is_enforced(former)
	latter.spec.policy != former.spec.policy
}

_ranks := {"dryrun": 0, "warn": 1, "deny": 2}

_is_enforced(obj) if {
	problems(object.get(obj, "spec", null)) == []
	action(obj.spec) in {"deny", "warn"}
}
