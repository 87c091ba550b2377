package bridge.queries

import data.bridge.constraints
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# A question about some routes reads few of the other routes, and few of the policies that target only routes. A slice is
# everything without the ones that it does not read. A route reads its parents and backends, whose answers have the paths
# through their other routes; routes of one mesh Service exclude each other; and a policy that targets several objects may
# conflict at each of them. Gateways and ListenerSets accept each route on its own: their other routes are read only for
# answers about a policy there, which acts at all of them, and for the problems of one of its routes or of its own.

# The types of the routes that a slice can be without; none while modules of admins declare links or levels.
slice_types := set() if {
	index.link_shapes == null
} else := index.link_shapes.types - kinds.names

# The slice for questions about what is in effect at the routes, and below the targets of the policies, `targets`, and
# about the problems of the objects `subjects`. OPA has every object that cannot be withheld, and `objects` are some of
# those that it does not have, in any state: `{read, names}`. `read` are the keys of the objects that the answer reads.
# `names` are the keys that decide which others it reads: those that name one of them. With `from`, keys of former `names`,
# only what is read because of these. Null: the answer may read any object. `withheld` has the apiVersion and kind of each
# type of withheld objects.
slice := null if {
	_reads_everything
} else := {
	"read": sort({key | some key in _reached; not _is_never_withheld(key)}),
	"names": sort({key | some key in _reached; _is_followed(key)}),
}

_reads_everything if slice_types == set()
_reads_everything if index.has_extension_links
_reads_everything if index.has_oversized
_reads_everything if policies.has_bindings
_reads_everything if slice_types & object.keys(kinds.sets.binding) != set()

_reads_everything if {
	some target in input.targets
	not _is_route(target)
	not _names_all_targets(target)
}

_reads_everything if {
	some subject in input.subjects
	not _is_route(subject)
	not _names_all_targets(subject)
	not _is_above_routes(subject)
	not _is_backend(subject)
}

# Guardrails may judge any object by what is in effect there.
_reads_everything if {
	input.subjects
	count(lookup.keys_of(constraints.type)) > 0
}

# Routes are below default Gateways without naming them.
_reads_everything if {
	some node in _followed_above
	node in index.default_gateways
}

# The listeners of a Gateway decide about those of others.
_reads_everything if hierarchy.shares_proxies

_reads_everything if {
	some obj in object.get(input, "objects", [])
	keys.type(obj.apiVersion, obj.kind) in _types_of_sharing
	hierarchy.lets_share_proxies(obj)
}

_types_of_sharing := implementations.merging_types | {"gateway.networking.k8s.io/GatewayClass"}

# Routes are below one that delegates to all routes of a namespace, or to those with a label, without either naming them.
_reads_everything if {
	some key, versions in _objects
	_is_route(key)
	some obj in versions
	some end in index.ends_of_route(obj)
	index.names_several(end)
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

_is_route(key) if keys.type_of(key) in slice_types

_is_backend(key) if {
	not kinds.of_policy(key)
	levels.of(key) == "Backend"
}

_is_above_routes(key) if levels.of(key) in {"GatewayClass", "Gateway", "ListenerSet"}

# A policy has all of its targets by names, and each is a route, above routes or a backend.
_names_all_targets(key) if {
	versions := _versions_of(key)
	count(versions) > 0
	kinds.of_policy(key)
	every policy in versions {
		not _has_more(keys.type_of(key), policy.apiVersion)
		refs := index.target_refs(policy)
		count(refs) > 0
		every ref in refs {
			levels.of(ref.object) in {"Route", "Backend", "GatewayClass", "Gateway", "ListenerSet"}
		}
	}
}

# An object in each state that is known of it.
_versions_of(key) := {obj | some obj in _objects[key]} | {obj | obj := lookup.get(key)}

_reached := _roots | graph.reachable(_neighbors, _roots)

_asked := {keys.object_of(key) | some field in ["targets", "subjects"]; some key in input[field]}

_named_by_asked := {ref.object |
	some key in _asked
	not _is_route(key)
	some policy in _versions_of(key)
	some ref in index.target_refs(policy)
}

_roots := {key | some key in input.from} if {
	input.from
} else := ({key | some key in (_asked | _named_by_asked); _is_followed(key)} | _followed_above) | {object_key |
	some targets in _shared_targets
	some target in targets
	not _is_followed(target)
	some object_key in targets
	_is_followed(object_key)
}

# Gateways, GatewayClasses and ListenerSets all of whose routes the answer reads: those of policies, and those of problems.
_followed_above := _gateways_below | {listener_set |
	some gateway in _gateways_below
	some listener_set in index.declared_children(gateway)
	levels.of(listener_set) == "ListenerSet"
}

_gateways_below := _named_above | {gateway |
	some class in _named_above
	levels.of(class) == "GatewayClass"
	some gateway in index.declared_children(class)
}

_named_above := {key | some key in (_asked | _named_by_asked); _is_above_routes(key)} | {end |
	some key in input.subjects
	_is_route(key)
	some route in _versions_of(key)
	some end in index.ends_of_route(route)
	_is_above_routes(end)
}

_is_followed(key) if levels.of(key) == "Route"
_is_followed(key) if _is_backend(key)
_is_followed(key) if key in _followed_above

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
_ends[key] contains end if {
	some key, versions in _objects
	some obj in versions
	some end in _named_by(key, obj)
	_is_followed(end)
}

_named_by(key, obj) := index.ends_of_route(obj) if {
	_is_route(key)
} else := {ref.object | some ref in index.target_refs(obj)}

_objects[key] contains obj if {
	some obj in input.objects
	key := keys.of(obj)
}

_objects[key] contains obj if {
	some type in slice_types
	some key in lookup.keys_of(type)
	obj := lookup.get(key)
}

# The targets of each policy that has several.
_shared_targets contains targets if {
	some kind in (kinds.names & lookup.types)
	some policy in lookup.keys_of(kind)
	targets := {ref.object | some ref in policies.declared_refs(policy)}
	count(targets) > 1
}
