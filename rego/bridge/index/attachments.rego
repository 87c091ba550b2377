package bridge.index

import data.bridge.lookup

# METADATA
# description: The policies of a kind (`<group>/<Kind>`) that name exactly this key as a target.
policies_naming(policy_kind, key) := {policy | some policy, _ in data.index.attached[policy_kind][key]} if {
	lookup.has_no_changes
} else := {policy |
	some policy, _ in data.index.attached[policy_kind][key]
	not policy in lookup.changed_keys
} | object.get(changed_entries, ["attached", policy_kind, key], set())

# METADATA
# description: No policy of a kind names a node in any form, which is true of most nodes.
is_untargeted(policy_kind, node) if {
	not data.index.attached[policy_kind][node]
	not data.index.selecting[policy_kind]
	lookup.has_no_changes

	# Ports and frontends have several forms.
	not startswith(node, "core/Service/")
	not contains(node, "@")
} else := false

# METADATA
# description: The policies of any kind that name an object, or a section of it, as a target.
policies_targeting(object_key) := {policy |
	some policy, _ in data.index.targeted[object_key]
	not policy in lookup.changed_keys
} | object.get(changed_entries, ["targeted", object_key, ""], set())

# METADATA
# description: The objects that policies of any kind name, whether they exist or not.
targeted_objects := {object_key |
	some object_key, policies in data.index.targeted
	some policy, _ in policies
	not policy in lookup.changed_keys
} | {joined | some joined, _ in changed_entries.targeted}

# METADATA
# description: |
#   The policy kinds of which a policy selects its targets by labels, as the index has it. Policies that name their
#   targets cost no search for others.
selecting_kinds := {kind | some kind, _ in data.index.selecting} | {kind | some kind, _ in changed_entries.selecting}

# METADATA
# description: |
#   The policies that select objects of a type in a namespace (`-` for cluster-scoped ones), as [policy, selector] (see
#   `bridge.attachment.selectors`), whatever they select.
policies_selecting(namespace, type) := {[policy, text] |
	some text, policies in data.index.selectors[namespace][type]
	some policy, _ in policies
	not policy in lookup.changed_keys
} | {[policy, text] |
	some joined, policies in changed_entries.selectors[namespace]
	startswith(joined, concat("", [type, "\n"]))
	text := trim_prefix(joined, concat("", [type, "\n"]))
	some policy in policies
}

# METADATA
# description: |
#   The policy kinds of which a policy has a ref with a className, before or after the query's changes.
class_limited_kinds := {kind | some kind, _ in data.index.limited} | {kind | some kind, _ in changed_entries.limited}

# METADATA
# description: The policies of a kind that have a ref with a className.
class_limited_policies(policy_kind) := {policy |
	some policy, _ in data.index.limited[policy_kind]
	not policy in lookup.changed_keys
} | object.get(changed_entries, ["limited", policy_kind, ""], set())

# METADATA
# description: The policies above a bound that name an object; a policy above a bound names itself (semantics T6).
oversized_policies(object_key) := {policy |
	some policy, _ in data.index.oversized[object_key]
	not policy in lookup.changed_keys
} | object.get(changed_entries, ["oversized", object_key, ""], set())

# METADATA
# description: |
#   The bound that a replicated policy exceeds, as a message; undefined if it exceeds none. It is stored, because
#   counting the policy again in each query would cause the cost that bounds avoid.
stored_excess(policy_key) := data.index.oversized[policy_key][policy_key]
