package bridge.v1

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lookup
import data.bridge.problems as finding
import data.bridge.queries
import data.bridge.topology

# METADATA
# description: |
#   The hierarchy from `root` down, or all of it, `{roots, nodes}`, every node once, to a `depth` of 15 links at most. With
#   `refused` the result also has the links of the nodes that are ignored.
# entrypoint: true
tree := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([
		["root", "optional node"],
		["depth", {"type": "integer", "minimum": 0, "maximum": 15}, "depth must be a whole number from 0 to 15"],
	])
} else := problem if {
	problem := queries.unknown_field({"root", "depth", "refused"})
} else := object.union(
	{"roots": sort(roots), "nodes": {key: topology.node(key, queries.policy_kinds) | some key in (nodes | namespaces)}},
	{"refused": links | input.refused; links := topology.rejected_links(nodes)},
) if {
	roots := {root | root := hierarchy.canonical_key(input.root)} | {root | not input.root; some root in topology.roots(queries.policy_kinds)}
	nodes := hierarchy.reach("below", roots, object.get(input, "depth", 15))
	namespaces := {namespace | some key in nodes; namespace := topology.node(key, queries.policy_kinds).namespace}
}

# METADATA
# description: |
#   The keys of the first objects of a picture of the hierarchy, from the top down, in lists for consecutive queries.
# entrypoint: true
picture_roots := problem if {
	problem := queries.emptied
} else := problem if {
	problem := queries.input_problem
} else := topology.picture_roots

# METADATA
# description: |
#   The picture of each of `objects` by key, with the `problems` of its links; objects without a place in it are absent.
# entrypoint: true
picture := problem if {
	problem := queries.emptied
} else := problem if {
	problem := queries.problem([["objects", "keys"]])
} else := {key: object.union(entry, {"problems": sort(finding.of_links(key, entry.refused))}) |
	some key in input.objects
	entry := topology.entry(key)
}

# METADATA
# description: |
#   Every kind with objects, a CRD or a description, `{names, policy}` by `<group>/<Kind>`, for short names on the command
#   line.
# entrypoint: true
types := problem if {
	problem := queries.input_problem
} else := {type: {"names": sort(object.get(_crd_names, type, set()) | {name | some name in kinds.get(type).shortNames}), "policy": type in kinds.names} |
	some type in ((lookup.types | object.keys(_crd_names)) | kinds.in_use)
}

# METADATA
# description: |
#   The types of policies, by presets, PolicyKinds and the label of their CRDs, whether or not the bridge can evaluate them.
# entrypoint: true
policy_types := problem if {
	problem := queries.input_problem
} else := sort(kinds.described_types)

# Several CRDs may claim one type.
_crd_names[type] contains name if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type := concat("/", [crd.spec.group, crd.spec.names.kind])
	own := [crd.spec.names.plural, object.get(crd.spec.names, "singular", "")]
	some name in array.concat(own, object.get(crd.spec.names, "shortNames", []))
	name != ""
}

# METADATA
# description: |
#   The keys of all objects of `types`, with `name` only those with that name; with `sections` also the keys of their
#   sections.
# entrypoint: true
names := problem if {
	problem := queries.problem([["types", "types"]])
} else := sort(_named | {section | input.sections; some key in _named; some section in hierarchy.sections(key)})

# METADATA
# description: The names of all namespaces that exist or have an object.
# entrypoint: true
namespaces := problem if {
	problem := queries.input_problem
} else := sort(lookup.namespaces)

_named := {key |
	some type in input.types
	some namespace in lookup.namespaces_of(type)
	key := concat("/", [type, namespace, input.name])
	lookup.has_object(key)
} | {key |
	not input.name
	some type in input.types
	some key in lookup.keys_of(type)
}

# METADATA
# description: |
#   Problems of `objects` (keys; without them of all stored objects) that their authors can fix. Those of policies follow
#   from `tallies`, as in `status`, or else from their outcomes. A GatewayClass is not one that a platform installs if it
#   is among the keys `deleted`. With `ancestors`, those of policies whose full status omits one of `objects` are included, and those of
#   routes that name one of them in vain. An OPA with a view answers about what is in it.
# entrypoint: true
problems := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["objects", "optional objects"], ["deleted", "optional keys"]])
} else := problem if {
	problem := queries.unknown_field({"ancestors", "deleted", "tallies"})
} else := queries.not_in_view([key | some key in input.objects; not finding.is_in_view(key)][0]) if {
	lookup.has_view
} else := [problem | some [_, problem] in sort({[key, problem] | some key in examined; some problem in finding.of(key)} | _omissions)] if {
	examined := {key | some key in input.objects} | {key | not input.objects; some type in lookup.types; some key in lookup.keys_of(type); finding.is_in_view(key)}
}

_omissions := {[key, problem] |
	input.ancestors
	some key in input.objects
	some problem in (finding.of_ancestor(key) | finding.of_referrers(key))
}

# METADATA
# description: |
#   How two states differ in problems: those that are `introduced`, `fixed` and `unchanged`. `before` and `after` are lists of
#   results of the query `problems`, and of violations in that form, with `identity`.
# entrypoint: true
compared_problems := problem if {
	problem := queries.problem([["before", _problems, "before must be a list of problems"], ["after", _problems, "after must be a list of problems"]])
} else := {name: sort(found) | some name, found in finding.compared(input.before, input.after)}

_problems := {"type": "array", "items": {"type": "object", "required": ["subject", "about", "reason", "message"]}}
