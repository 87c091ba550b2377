package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: A node is one at which a policy kind may act.
acts_at(policy_kind, node) if {
	is_of_acting_type(policy_kind, node)
} else := false if {
	hierarchy.is_unaccepted(node)
} else if {
	not kinds.acts_at_targets(policy_kind)
	_has_place(policy_kind, keys.parse(node).object)
	levels.of(node) == kinds.get(policy_kind).effectiveTarget
	kinds.acts_on(policy_kind, keys.parse(node).type)
} else if {
	kinds.acts_at_targets(policy_kind)
	not contains(node, "#")
	kinds.may_target(policy_kind, keys.parse(node).type)
	_may_act_on(policy_kind, keys.parse(node).type)
	attachment.place(policy_kind, node) == node
} else if {
	kinds.acts_at_targets(policy_kind)
	contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.parse(node).type)
	_may_act_on(policy_kind, keys.parse(node).type)
	has_protocol(policy_kind, node)
}

# METADATA
# description: |
#   An existing node of a type at whose objects or sections a policy kind always acts. Most nodes in queries are of this
#   form.
is_of_acting_type(policy_kind, node) if {
	_type_of_section(node) in kinds.traits(policy_kind).sections
} else if {
	keys.type_of(node) in kinds.traits(policy_kind).objects
	not regex.match(`[#@]`, node)
	hierarchy.exists(node)
}

# The type of a section's object. Undefined for other nodes and for listeners that are not accepted.
_type_of_section(node) := known.type if {
	[object_key, _] := split(node, "#")
	known := index.facts(object_key)
	not known.claims
} else := index.facts(object_key).type if {
	# Only objects with listeners claim ports.
	[object_key, name] := split(node, "#")
	not hierarchy.unaccepted_listeners(object_key)[name]
}

# METADATA
# description: |
#   A node at which a kind acts is the only effective target at it, unless an extension module links objects of one
#   level.
is_only_target(policy_kind, node) if {
	acts_at(policy_kind, node)
	not index.has_extension_links
}

_has_place(_, object_key) if hierarchy.has_place(object_key)

_has_place(policy_kind, object_key) if {
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}

_may_act_on(policy_kind, _) if kinds.is_direct(policy_kind)

_may_act_on(policy_kind, type) if {
	kinds.acts_where_declared(policy_kind)
	kinds.acts_on(policy_kind, type)
}

# METADATA
# description: |
#   The backends of a policy kind's target kinds, at an object or in a Namespace, whether a rule names them or not.
unnamed_backends(policy_kind, object_key) := {concat("/", [type, parts.name, name]) |
	parts := keys.parse(object_key)
	parts.type == "core/Namespace"
	some type in kinds.backend_types(policy_kind)
	some name, _ in lookup.objects_in(type, parts.name)
} | {object_key |
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}
