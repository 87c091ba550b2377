package bridge.outcomes

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   The name of a path in messages, with its nodes from the top. A GatewayClass, a Namespace and an object before its
#   own section are omitted, because they add no information.
scope_name(path) := node_name(path[0]) if {
	count(path) == 1
} else := concat(" > ", array.concat(_names_above(array.slice(path, 0, last - 1), path[last - 1]), [node_name(path[last])])) if {
	last := count(path) - 1
	last > 1
	startswith(path[last], concat("", [path[last - 1], "#"]))
} else := concat(" > ", array.concat(_names_above(upper, lower[0]), _names(lower))) if {
	count(path) > 2
	upper := array.slice(path, 0, count(path) - 2)
	lower := array.slice(path, count(path) - 2, count(path))
} else := concat(" > ", _names(path))

# The names of the upper part of a path, which OPA computes once for all paths that share it. Its last node is omitted
# if the `next` node is a section of it.
_names_above(upper, next) := _names(array.slice(upper, 0, count(upper) - 1)) if {
	_is_section_of(next, upper[count(upper) - 1])
} else := _names(upper)

# Most paths end with an object and a section of it.
_names(nodes) := [node_name(section)] if {
	[object, section] := nodes
	_is_section_of(section, object)
} else := [text |
	some index, node in nodes
	some text in _step_name(node, concat("", array.slice(nodes, index + 1, index + 2)))
]

_step_name(node, next) := [] if {
	levels.of(node) in {"GatewayClass", "Namespace"}
} else := [] if {
	_is_section_of(next, node)
} else := [node_name(node)]

_is_section_of(next, node) if startswith(next, concat("", [node, "#"]))

# METADATA
# description: |
#   The name of a node in messages, `Kind namespace/name#section`. Kinds of groups other than Kubernetes' core and
#   Gateway API have kubectl's form `Kind.group`, because two groups may have a kind with the same name.
node_name(node) := concat("", [_kind_name(group, kind), " ", namespace, "/", rest]) if {
	[group, kind, namespace, rest] := split(node, "/")
	namespace != "-"
} else := concat("", [_kind_name(parts.group, parts.kind), " ", keys.short(node), section_or_role]) if {
	parts := keys.parse(node)
	section_or_role := trim_prefix(node, parts.object)
}

_kind_name(group, kind) := kind if {
	group == "core"
} else := kind if {
	group == keys.gateway_api
} else := concat(".", [kind, group])
