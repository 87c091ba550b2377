package bridge.v1

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.queries

# METADATA
# description: |
#   `types`: every kind with objects, a CRD or a description, `{names, policy}` by `<group>/<Kind>`: the further names
#   in its CRD, and whether it is an active policy kind. For short names on the command line.
# entrypoint: true
types := queries.input_problem if {
	queries.input_problem
} else := {type: {"names": object.get(_crd_names, type, []), "policy": type in kinds.names} |
	some type in ((_held_types | object.keys(_crd_names)) | kinds.in_use)
}

_held_types := {concat("/", [group, kind]) |
	some group, by_kind in data.objects
	some kind, _ in by_kind
} | {keys.parse(key).type | some key, _ in lookup.upserts}

_crd_names := {type: sort(names) |
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type := concat("/", [crd.spec.group, crd.spec.names.kind])
	all_names := [crd.spec.names.plural, object.get(crd.spec.names, "singular", "")]
	names := {name |
		some name in array.concat(all_names, object.get(crd.spec.names, "shortNames", []))
		name != ""
	}
}

# METADATA
# description: |
#   `names`: the keys of all objects of `types` (`<group>/<Kind>`), with `name` only those with that name; with
#   `sections` also the keys of their sections.
# entrypoint: true
names := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "types must be a list of <group>/<Kind>") if {
	not queries.is_list("types")
} else := sort(_named | {section | input.sections; some key in _named; some section in hierarchy.sections(key)})

_named := {concat("/", [type, namespace, name]) |
	some type in input.types
	some namespace in lookup.namespaces_of(type)
	some name in _names_in(type, namespace)
}

_names_in(type, namespace) := object.keys(lookup.objects_in(type, namespace)) if not input.name

_names_in(type, namespace) := {input.name} if lookup.objects_in(type, namespace)[input.name]
