package bridge.attachment

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   Under `sameLevel: Conflict` one target, with its section, belongs to the oldest policy; a younger one's ref to it
#   is Conflicted (GEP-713, "Merge strategy: None"; semantics F5). Undefined where there is no conflict.
conflict(policy_key, ref) := {"reason": "Conflicted", "message": message} if {
	kinds.of_policy(policy_key).sameLevel == "Conflict"
	node := place(keys.parse(policy_key).type, ref.key)
	winner := sort({[lookup.age(other), keys.alphabetical(other), other] |
		some other in _contenders(keys.parse(policy_key).type, node)
		_for_same_requests(policy_key, other)
	})[0][2]
	winner != policy_key
	message := sprintf("%s belongs to the older %s %s", [describe(ref), keys.parse(winner).kind, keys.short(winner)])
}

# The policies of a kind that would be accepted at a node if they were alone there.
_contenders(policy_kind, node) := {policy |
	some [policy, ref] in _refs_to(policy_kind, node)
	own_verdict(policy, ref).reason == "Accepted"
}

# A consumer's policy counts for other requests than a producer's or another consumer's (semantics P6).
_for_same_requests(policy_key, _) if not kinds.for_consumers(keys.parse(policy_key).type)

_for_same_requests(policy_key, other) if keys.parse(policy_key).namespace == keys.parse(other).namespace
