package bridge.index

import data.bridge.lookup

# METADATA
# description: The policies of a kind (`<group>/<Kind>`) that name exactly this key as a target.
naming(policy_kind, key) := {policy | some policy, _ in data.index.attached[policy_kind][key]} if {
	lookup.unchanged
} else := {policy |
	some policy, _ in data.index.attached[policy_kind][key]
	not policy in lookup.touched
} | object.get(changed, ["attached", policy_kind, key], set())

# METADATA
# description: No policy of a kind names a node, whatever the spelling. Most nodes have none.
unnamed(policy_kind, node) if {
	unnamed_plainly(policy_kind, node)
	not startswith(node, "core/Service/")
	not contains(node, "@")
} else := false

# METADATA
# description: The same of a node that is no port and no frontend, so that it has one spelling.
unnamed_plainly(policy_kind, node) if {
	not data.index.attached[policy_kind][node]
	_by_name_alone
} else := false

# Policies are attached by what the index says of names, and nothing else.
_by_name_alone if {
	lookup.unchanged
	not selectors_exist
}

# METADATA
# description: The policies of any kind that name an object, or a section of it, as a target.
targeting(object_key) := {policy |
	some policy, _ in data.index.targeted[object_key]
	not policy in lookup.touched
} | object.get(changed, ["targeted", object_key, ""], set())

# METADATA
# description: The objects that policies of any kind name, whether they exist or not.
targeted := {object_key |
	some object_key, policies in data.index.targeted
	some policy, _ in policies
	not policy in lookup.touched
} | {joined | some joined, _ in changed.targeted}

# METADATA
# description: Some policy selects its targets by labels. Made once a query, so that where none does nobody looks for them.
selectors_exist if {
	some _ in data.index.selectors
}

selectors_exist if changed.selectors

# METADATA
# description: |
#   The policies that select objects of a type in a namespace (`-` for cluster-scoped ones), as [policy, what it selects
#   by] (see `bridge.attachment.selectors`), whatever they select.
selecting(namespace, type) := {[policy, text] |
	some text, policies in data.index.selectors[namespace][type]
	some policy, _ in policies
	not policy in lookup.touched
} | {[policy, text] |
	some joined, policies in changed.selectors[namespace]
	startswith(joined, concat("", [type, "\n"]))
	text := trim_prefix(joined, concat("", [type, "\n"]))
	some policy in policies
}

# METADATA
# description: The policies of a kind that have a ref with a className.
limited(policy_kind) := {policy |
	some policy, _ in data.index.limited[policy_kind]
	not policy in lookup.touched
} | object.get(changed, ["limited", policy_kind, ""], set())

# METADATA
# description: The policies above a bound that name an object; a policy above a bound names itself (semantics T6).
oversized(object_key) := {policy |
	some policy, _ in data.index.oversized[object_key]
	not policy in lookup.touched
} | object.get(changed, ["oversized", object_key, ""], set())

# METADATA
# description: |
#   Which bound a replicated policy is above, as a message; undefined where it is above none. Stored, because counting the
#   policy again in each query is the cost that bounds avoid.
stored_excess(policy_key) := data.index.oversized[policy_key][policy_key]
