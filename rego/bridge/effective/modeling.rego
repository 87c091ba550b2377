package bridge.effective

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   An entry of effective policies; with `incomplete`, a list of reasons, if a policy that has an effect there uses such a
#   feature, and with `staged`, if the query asks for the staged policies too and some are on the path.
marked(entry) := object.union(_complete(entry), {"staged": staged}) if {
	input.staged
	staged := [one.policy | some one in entry.policies; policies.is_staged(lookup.get(one.policy))]
	staged != []
} else := _complete(entry)

_complete(entry) := object.union(entry, {"incomplete": reasons}) if {
	reasons := incomplete_because(keys.type_of(entry.policies[0].policy), entry.path, entry.policies)
} else := entry

# METADATA
# description: |
#   Why it is not certain what is in effect on a path with the `outcomes` of its policies, `[{policy, outcome}]`. Undefined
#   if it is.
incomplete_because(policy_kind, path, outcomes) := sort(reasons) if {
	features := kinds.get(policy_kind).notModeled
	reasons := {feature.message | some feature in features; not feature.path} | {sprintf("%s: %s", [keys.describe(user), feature.message]) |
		some feature in features
		some user in _users(object.get(feature, "onPath", false), path, outcomes)
		obj := lookup.get(user)
		_uses(obj, split(feature.path, "/*"), feature)
		object.get(obj, leaves.segments(object.get(feature, "with", "")), null) != null
	}
	count(reasons) > 0
}

_users(false, _, outcomes) := {one.policy | some one in outcomes; object.get(one, "outcome", "") != "Overridden"}

_users(true, path, _) := {keys.object_of(node) | some node in path}

# The parts of a path around each `*`, which is any key or item.
_uses(obj, [path], feature) if _is_value(object.get(obj, leaves.segments(path), null), feature)

_uses(obj, [path, rest], feature) if {
	some child in object.get(obj, leaves.segments(path), [])
	_is_value(object.get(child, leaves.segments(rest), null), feature)
}

_uses(obj, [path, inner, rest], feature) if {
	some child in object.get(obj, leaves.segments(path), [])
	some grandchild in object.get(child, leaves.segments(inner), [])
	_is_value(object.get(grandchild, leaves.segments(rest), null), feature)
}

_is_value(found, feature) if {
	found != null
	object.get(feature, "value", found) == found
}
