package bridge.queries

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# A question about some routes reads few of the other routes, and few of the policies that target only routes. A slice is
# everything without the ones that it does not read. A route reads its parents and backends, whose answers have the paths
# through their other routes; routes of one mesh Service exclude each other; and a policy that targets several objects may
# conflict at each of them. Gateways and ListenerSets accept each route on its own.

# The types of the routes that a slice can be without; none while modules of admins declare links or levels.
slice_types := set() if {
	index.link_shapes == null
} else := index.link_shapes.types - kinds.names

# The slice for questions about the routes `targets`, where OPA has every object that cannot be withheld, and `objects`
# are some of those that it does not have: `{read, names}`. `read` are the keys of the objects that the answer reads.
# `names` are the objects, `[namespace, name]`, that decide which others it reads: those that name one of them. Null: the
# answer may read any object. `withheld` has the apiVersion and kind of each type of withheld objects.
slice := null if {
	_reads_everything
} else := {
	"read": sort({key | some key in _reached; not _is_never_withheld(key)}),
	"names": sort({[parts.namespace, parts.name] | some key in _reached; _is_followed(key); parts := keys.parse(key)}),
}

_reads_everything if slice_types == set()
_reads_everything if index.has_extension_links
_reads_everything if index.has_oversized
_reads_everything if policies.has_bindings
_reads_everything if slice_types & object.keys(kinds.sets.binding) != set()

_reads_everything if {
	some target in input.targets
	not keys.type_of(target) in slice_types
}

# A policy that selects its targets by labels may conflict at any of these.
_reads_everything if count(policies.selecting_kinds & lookup.types) > 0

# Policies of such a kind count only for routes that share no place with others.
_reads_everything if {
	some kind in (kinds.names & lookup.types)
	kinds.get(kind).targets[_].ownPlaces
}

# Policies have other targets than those that they name, or are reported.
_reads_everything if {
	some obj in input.withheld
	type := keys.type(obj.apiVersion, obj.kind)
	not type in slice_types
	_has_more(type, obj.apiVersion)
}

_has_more(type, _) if not kinds.get(type)
_has_more(type, _) if kinds.get(type).traits.selecting
_has_more(type, _) if kinds.get(type).rootNamespace
_has_more(type, _) if kinds.is_bound(type)
_has_more(type, _) if kinds.has_namespace_defaults(type)
_has_more(type, version) if kinds.version_problem(type, version)

_is_never_withheld(key) if {
	not keys.type_of(key) in slice_types
	not _objects[key]
}

_reached := _roots | graph.reachable(_neighbors, _roots)

_roots := {keys.object_of(target) | some target in input.targets} | {object_key |
	some targets in _shared_targets
	some target in targets
	not _is_followed(target)
	some object_key in targets
	_is_followed(object_key)
}

_is_followed(object_key) if levels.of(object_key) in {"Route", "Backend"}

_neighbors[key] contains end if {
	some key, ends in _ends
	some end in ends
}

_neighbors[end] contains key if {
	some key, ends in _ends
	some end in ends
}

_neighbors[target] contains other if {
	some targets in _shared_targets
	some target in targets
	_is_followed(target)
	some other in targets
	_is_followed(other)
}

# What an object names and does not have in common with objects that do not matter.
_ends[key] := {end | some end in _named_by(key, obj); _is_followed(end)} if some key, obj in _objects

_named_by(key, obj) := index.ends_of_route(obj) if {
	keys.type_of(key) in slice_types
} else := {ref.object | some ref in index.target_refs(obj)}

_objects[key] := obj if {
	some obj in input.objects
	key := keys.of(obj)
}

_objects[key] := lookup.get(key) if {
	some type in slice_types
	some key in lookup.keys_of(type)
}

# The targets of each policy that has several.
_shared_targets contains targets if {
	some kind in (kinds.names & lookup.types)
	some policy in lookup.keys_of(kind)
	targets := {ref.object | some ref in policies.declared_refs(policy)}
	count(targets) > 1
}
