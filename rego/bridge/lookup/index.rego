package bridge.lookup

import data.bridge.hierarchy
import data.bridge.lib.keys

# METADATA
# description: The objects that stand above this one by any object's declaration, whether that counts or not.
declared_parents(key) := _linked("parents", key)

# METADATA
# description: The objects that stand below this one by any object's declaration, whether that counts or not.
declared_children(key) := _linked("children", key)

# METADATA
# description: |
#   Some extension module makes links. Made once a query, so that where none does nobody looks for them.
extended_exist if {
	some _ in data.index.extended
}

extended_exist if _changed.extended

# METADATA
# description: The nodes that an extension module puts above an object or frontend, whether they exist or not.
extended(node) := _declared("extended", node)

# METADATA
# description: The objects of a namespace, of kinds that have no level, which some link names.
held(namespace) := _declared("held", namespace)

# METADATA
# description: The policies of a kind (`<group>/<Kind>`) that name exactly this key as a target.
naming(policy_kind, key) := {policy | some policy, _ in data.index.attached[policy_kind][key]} if {
	unchanged
} else := {policy |
	some policy, _ in data.index.attached[policy_kind][key]
	not policy in touched
} | object.get(_changed, ["attached", policy_kind, key], set())

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
	unchanged
	not selectors_exist
}

# METADATA
# description: The policies of any kind that name an object, or a section of it, as a target.
targeting(object_key) := {policy |
	some policy, _ in data.index.targeted[object_key]
	not policy in touched
} | object.get(_changed, ["targeted", object_key, ""], set())

# METADATA
# description: The objects that policies of any kind name, whether they exist or not.
targeted := {object_key |
	some object_key, policies in data.index.targeted
	some policy, _ in policies
	not policy in touched
} | {joined | some joined, _ in _changed.targeted}

# METADATA
# description: Some policy selects its targets by labels. Made once a query, so that where none does nobody looks for them.
selectors_exist if {
	some _ in data.index.selectors
}

selectors_exist if _changed.selectors

# METADATA
# description: |
#   The policies that select objects of a type in a namespace (`-` for cluster-scoped ones), as [policy, what it selects
#   by] (see `bridge.attachment.selectors`), whatever they select.
selecting(namespace, type) := {[policy, text] |
	some text, policies in data.index.selectors[namespace][type]
	some policy, _ in policies
	not policy in touched
} | {[policy, text] |
	some joined, policies in _changed.selectors[namespace]
	startswith(joined, concat("", [type, "\n"]))
	text := trim_prefix(joined, concat("", [type, "\n"]))
	some policy in policies
}

# METADATA
# description: The policies of a kind that have a ref with a className.
limited(policy_kind) := {policy |
	some policy, _ in data.index.limited[policy_kind]
	not policy in touched
} | object.get(_changed, ["limited", policy_kind, ""], set())

# METADATA
# description: The policies above a bound that name an object; a policy above a bound names itself (semantics T6).
oversized(object_key) := {policy |
	some policy, _ in data.index.oversized[object_key]
	not policy in touched
} | object.get(_changed, ["oversized", object_key, ""], set())

# METADATA
# description: |
#   Which bound a replicated policy is above, as a message; undefined where it is above none. Stored, because counting the
#   policy again in each query is the cost that bounds avoid.
excess(policy_key) := data.index.oversized[policy_key][policy_key]

# METADATA
# description: The objects that refer into a namespace from another one.
referrers(namespace) := {key |
	some declarers in data.index.referrers[namespace]
	some key, _ in declarers
	not key in touched
} | object.get(_changed, ["referrers", namespace, ""], set())

# What an object declares of itself stands apart from what others declare of it (docs/reference/documents.md).
_linked(direction, key) := ({other |
	not key in touched
	some other in data.index.own[direction][keys.home(key)][key]
} | {other |
	some declarers in data.index[direction][keys.home(key)][key]
	some declarer, others in declarers
	not declarer in touched
	some other in others
}) | object.get(_changed, [direction, key, ""], set())

_declared(direction, key) := {other |
	some declarer, others in data.index[direction][key]
	not declarer in touched
	some other in others
} | object.get(_changed, [direction, key, ""], set())

# The changed objects' own part of the index. A complete rule, so that OPA makes it once a query.
_changed := _changed_entries

_changed_entries[path[0]][path[1]][concat("\n", array.slice(path, 2, 4))] contains value if {
	some declarer, obj in upserts
	some entry in hierarchy.links(obj)
	path := entry.path
	some value in _values(path[0], declarer, entry.value)
}

_values(_, _, value) := value if is_array(value)

_values(_, declarer, value) := [declarer] if not is_array(value)
