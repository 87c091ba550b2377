package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: "`marked` may change entries of a policy kind."
may_be_marked(policy_kind) if {
	input.staged
} else if {
	kinds.traits(policy_kind).marked
} else if {
	implementations.refusing[policy_kind]
} else if {
	lookup.reads_in_part
} else := false

# METADATA
# description: |
#   An entry of effective policies as requests meet it (see `as_served`); with `incomplete`, a list of reasons, if a policy that has an effect there uses such a
#   feature, with `remarks`, what values of its policies mean in words, and with `staged`, if the query asks for the staged
#   policies too and some are on the path.
marked(entry) := entry if {
	not may_be_marked(keys.type_of(entry.policies[0].policy))
} else := object.union(_remarked(entry), {"staged": staged}) if {
	input.staged
	staged := [one.policy | some one in entry.policies; policies.is_staged(lookup.get(one.policy))]
	staged != []
} else := _remarked(entry)

_remarked(entry) := object.union(_complete(entry), {"remarks": sort(found)}) if {
	_may_have_remarks(keys.type_of(entry.policies[0].policy))
	found := {remark |
		some one in entry.policies
		object.get(one, "outcome", "") != "Overridden"
		some remark in policies.remarks(lookup.get(one.policy))
	} | {message | some [_, message] in refusals(entry)}
	count(found) > 0
} else := _complete(entry)

_may_have_remarks(policy_kind) if {
	kinds.get(policy_kind).remarks
} else if {
	implementations.refusing[policy_kind]
} else := false

_complete(entry) := object.union(as_served(entry), {"incomplete": reasons}) if {
	reasons := incomplete_because(keys.type_of(entry.policies[0].policy), entry.path, entry.policies)
} else := as_served(entry)

# METADATA
# description: The messages of the features that a policy itself uses, and that its kind does not model.
features_used_by(policy_key) := {message |
	some feature in kinds.of_policy(policy_key).notModeled
	not feature.onPath
	not feature.routeKinds
	not feature.several
	not feature.shared
	message := use_of(feature, policy_key)
}

# The message of a feature that an object uses. Undefined if it does not.
use_of(feature, key) := sprintf("%s: %s", [keys.describe(key), feature.message]) if {
	obj := lookup.get(key)
	_uses(obj, split(feature.path, "/*"), feature)
	object.get(obj, leaves.segments(object.get(feature, "with", "")), null) != null
	object.get(obj, leaves.segments(object.get(feature, "without", "/-")), null) == null
}

# METADATA
# description: |
#   Why it is not certain what is in effect on a path with the `outcomes` of its policies, `[{policy, outcome}]`. Undefined
#   if it is.
incomplete_because(policy_kind, path, outcomes) := doubts_about(policy_kind, path, outcomes, outcomes)

# METADATA
# description: The same for some of the policies of the path, by their outcomes `of` the path's.
doubts_about(policy_kind, path, outcomes, of) := sort(reasons) if {
	may_be_incomplete(policy_kind)
	reasons := _not_modeled(policy_kind, path, outcomes, of) | unread_on(policy_kind, path)
	count(reasons) > 0
}

# METADATA
# description: Effective policies of a kind may be uncertain. Not undefined otherwise, which OPA would compute again each time.
may_be_incomplete(policy_kind) if {
	kinds.traits(policy_kind).doubtful
} else if {
	lookup.reads_in_part
} else := false

_not_modeled(policy_kind, path, outcomes, of) := union({
	{message | some message in kinds.doubts_of(policy_kind)},
	_without_label(policy_kind, path, of),
	_used_by_policies(policy_kind, types, contending, [[one.policy, object.get(one, "outcome", "")] | some one in of]),
	_used_on(policy_kind, types, contending, path),
}) if {
	kinds.traits(policy_kind).doubtful
	types := {split(node, "/")[1] | some node in path}
	contending := _contending(policy_kind, path, outcomes)
} else := set()

# The messages of features that policies use on a path with nodes of these kinds. A function of what it depends on, so that
# OPA evaluates it once for all paths with the same policies.
_used_by_policies(policy_kind, types, contending, outcomes) := {message |
	some feature in kinds.get(policy_kind).notModeled
	not feature.onPath
	_is_about(feature, types)
	_is_shared(feature, outcomes)
	some [user, outcome] in outcomes
	_contends(feature, user, contending)
	outcome != "Overridden"
	message := use_of(feature, user)
}

# A feature may be one only where several policies of a path use it.
_is_shared(feature, _) if not feature.shared
_is_shared(feature, outcomes) if count({user | some [user, _] in outcomes; use_of(feature, user)}) > 1

# The messages of features that objects of a path use.
_used_on(policy_kind, types, contending, path) := {message |
	some feature in features_of_paths(policy_kind)
	_is_about(feature, types)
	_meets_others(feature, contending)
	some node in path
	message := use_of(feature, keys.object_of(node))
}

features_of_paths(policy_kind) := [feature | some feature in kinds.get(policy_kind).notModeled; feature.onPath]

# METADATA
# description: |
#   What the user of a command may not read and what may change the effective policy on a path, as a set of at most one message:
#   parents that objects of the path name, parameters that may let Gateways share proxies, and policies of the kind in the
#   namespaces of the path.
unread_on(policy_kind, path) := {sprintf("you can't read %s, which may change this result", [concat(", ", sort(unread))])} if {
	lookup.reads_in_part
	unread := (_unread_parents(path) | _unread_parameters(path)) | _unread_policies(policy_kind, path)
	count(unread) > 0
} else := set()

# METADATA
# description: The messages of `hierarchy.not_attached` about parents on a path that the user may not read. Such a route may be attached.
unread_reasons(path) := {sprintf("you can't read %s", [parent]) | some parent in _unread_parents(path)} if {
	lookup.reads_in_part
} else := set()

_unread_parents(path) := {keys.describe(parent) |
	some object_key in {keys.object_of(node) | some node in path}
	some parent in hierarchy.unread_parents(object_key)
}

_unread_parameters(path) := {keys.describe(parameters) |
	some node in path
	some parameters in hierarchy.unread_parameters(node)
}

_unread_policies(policy_kind, path) := {sprintf("%s objects in namespace %s", [keys.parse(policy_key).kind, namespace]) |
	some namespace in {keys.namespace(node) | some node in path}
	namespace != "-"
	policy_key := concat("/", [policy_kind, namespace, "any"])
	lookup.may_be_unread(policy_key)
}

# A feature may be one on paths through routes of some kinds only.
_is_about(feature, _) if not feature.routeKinds

_is_about(feature, types) if {
	some kind in feature.routeKinds
	kind in types
}

# The policies of a path for whose targets others contend.
_contending(policy_kind, path, outcomes) := {one.policy |
	kinds.get(policy_kind).notModeled[_].several
	some one in outcomes
	attachment.has_rivals(one.policy, path)
}

# A feature may be one only where several policies contend for a target.
_contends(feature, _, _) if not feature.several
_contends(_, user, contending) if user in contending

_meets_others(feature, _) if not feature.several
_meets_others(_, contending) if count(contending) > 0

# The parts of a path around each `*`, which is any key or item.
_uses(obj, [path], feature) if _is_value(object.get(obj, leaves.segments(path), null), feature)

_uses(obj, [path, rest], feature) if {
	some child in object.get(obj, leaves.segments(path), [])
	_is_value(_at(child, rest), feature)
}

_uses(obj, [path, inner, rest], feature) if {
	some child in object.get(obj, leaves.segments(path), [])
	some grandchild in object.get(child, leaves.segments(inner), [])
	_is_value(_at(grandchild, rest), feature)
}

# An item itself need not be an object.
_at(value, "") := value
_at(value, pointer) := object.get(value, leaves.segments(pointer), null) if pointer != ""

_is_value(found, feature) if {
	found != null
	object.get(feature, "value", found) == found
	_has_form(found, feature)
}

_has_form(_, feature) if not feature.hostBits

_has_form(found, feature) if {
	feature.hostBits
	contains(found, "/")
	net.cidr_is_valid(found)
	some network in net.cidr_merge([found])
	_first_address(network) != _first_address(found)
}

# The address before the length of a range, in the one form that ranges of one address have.
_first_address(range) := net.cidr_merge([concat("/", [address, length])]) if {
	address := split(range, "/")[0]
	length := _length_of_addresses(address)
}

_length_of_addresses(address) := "128" if contains(address, ":")
_length_of_addresses(address) := "32" if not contains(address, ":")

# Policies act at a named target only if a label of it, or else of its Namespace, names what serves it.
_without_label(policy_kind, path, outcomes) := {message |
	object_key := keys.object_of(path[count(path) - 1])
	why := attachment.unserved_because(policy_kind, object_key)
	some one in outcomes
	some ref in policies.named_refs(one.policy)
	ref.object == object_key
	message := sprintf("%s: it names %s", [keys.describe(one.policy), why])
}
