# METADATA
# title: Modeling
# description: |
#   Where an effective policy is incomplete, because a policy uses a feature that its policy kind says is not modeled. Every
#   bundle has this package.
package bridge.modeling

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.staging

# METADATA
# description: |
#   An entry of effective policies; with `incomplete`, a list of reasons, if a policy that has an effect there uses such a
#   feature, and with `staged`, if the query asks for the staged policies too and some are on the path.
marked(entry) := object.union(_complete(entry), {"staged": staged}) if {
	input.staged
	staged := [one.policy | some one in entry.policies; staging.is_staged(lookup.get(one.policy))]
	staged != []
} else := _complete(entry)

_complete(entry) := object.union(entry, {"incomplete": sort(reasons)}) if {
	features := kinds.get(keys.type_of(entry.policies[0].policy)).notModeled
	reasons := {sprintf("%s: %s", [keys.describe(one.policy), feature.message]) |
		some one in entry.policies
		object.get(one, "outcome", "") != "Overridden"
		some feature in features
		_uses(lookup.get(one.policy), split(feature.path, "/*"), feature)
	}
	count(reasons) > 0
} else := entry

# The parts of a path around one `*`, which is any key or item.
_uses(policy, [path], feature) if _is_value(object.get(policy, leaves.segments(path), null), feature)

_uses(policy, [path, rest], feature) if {
	some child in object.get(policy, leaves.segments(path), [])
	_is_value(object.get(child, leaves.segments(rest), null), feature)
}

_is_value(found, feature) if {
	found != null
	object.get(feature, "value", found) == found
}
