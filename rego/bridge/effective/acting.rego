package bridge.effective

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: A node is one that a policy kind may act at.
acts_at(policy_kind, node) if {
	_acts_inside(policy_kind, node)
} else if {
	kind_of_node(node) in traits(policy_kind).acts
	hierarchy.exists(split(node, "#")[0])
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
}

# A section of an object, at which the kind acts. Most that is asked about is one.
_acts_inside(policy_kind, node) if {
	[object_key, _] := split(node, "#")
	index.facts(object_key).type in traits(policy_kind).actsInside
}

# METADATA
# description: The type of a node that is an object, and of a section with `#`. Empty for a frontend.
kind_of_node(node) := keys.type_of(node) if {
	not regex.match(`[#@]`, node)
} else := concat("", [keys.type_of(node), "#"]) if {
	not contains(node, "@")
} else := ""

# A node that a kind acts at stands for itself alone, but where an extension module links objects of one level.
_stands_alone(policy_kind, node) if {
	acts_at(policy_kind, node)
	not index.extended_exist
}

_has_place(_, object_key) if hierarchy.has_place(object_key)

_has_place(policy_kind, object_key) if {
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}

_may_act_on(policy_kind, _) if kinds.direct(policy_kind)

_may_act_on(policy_kind, type) if {
	kinds.acts_where_declared(policy_kind)
	kinds.acts_on(policy_kind, type)
}

# The backends of kinds that a policy kind names, at an object or held by a Namespace, whether a rule names them or not.
_unnamed_backends(policy_kind, object_key) := {concat("/", [type, parts.name, name]) |
	parts := keys.parse(object_key)
	parts.type == "core/Namespace"
	some type in kinds.backend_types(policy_kind)
	some name, _ in lookup.objects_in(type, parts.name)
} | {object_key |
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}
