package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# Policies of some kinds name no targets: other objects bind them (`boundBy` of the kind; semantics T10). A binding object
# is a node between what it binds and its targets; either may itself be an object that another binding object binds, as in
# Policy > PolicySet > PlacementBinding > Placement > PlacementDecision > ManagedCluster.

# How the objects of a type bind: the entries of `boundBy` of all kinds.
_ways_to_bind(type) := [entry |
	some policy_kind, _ in kinds.sets.binding[type]
	some entry in kinds.get(policy_kind).boundBy
	entry.type == type
]

# The types of which objects declare in their status what they bind.
binding_in_status := sort({type |
	some type, _ in kinds.sets.binding
	some entry in _ways_to_bind(type)
	some field in ["policies", "targets"]
	entry[field][0] == "status"
})

# The links of an object of a type that binds policies, with its facts; `bound` are its index entries, see `index.entries_of`.
declared_bindings(type, obj) := object.union(
	{
		"bound": index.binding_entries(_ends(type, obj, "policies"), _ends(type, obj, "targets"), kinds.sets.binding[type]),
		"facts": {"by": kinds.binding_stamp(type)},
	},
	{"selectors": selections | selections := _selections_of_binding(type, obj); count(selections) > 0},
)

# The keys of the other objects at one end of a binding object: `policies` or `targets`.
_ends(type, obj, field) := {key |
	some entry in _ways_to_bind(type)
	entry[field] != null
	not _is_selector(entry, field)
	some value in _values_at(obj, entry[field])
	key := _named_key(object.get(obj.metadata, "namespace", ""), _default_type(entry, field), entry, field, value)
}

_is_selector(entry, "targets") if entry.selects

_default_type(entry, "policies") := entry.of
_default_type(entry, "targets") := entry.to

# A binding object names objects of its own namespace, or cluster-scoped ones.
_named_key(namespace, type, entry, field, value) := keys.named(_without_core(group), kind, home, value) if {
	is_string(value)
	[group, kind] := split(type, "/")
	home := _namespace_at(namespace, entry, field)
} else := keys.named(object.get(value, "apiGroup", object.get(value, "group", group)), object.get(value, "kind", kind), home, value.name) if {
	is_object(value)
	[group, kind] := array.slice(array.concat(split(type, "/"), [""]), 0, 2)
	home := _namespace_at(namespace, entry, field)
}

_without_core("core") := ""
_without_core(group) := group if group != "core"

_namespace_at(_, entry, "targets") := "" if entry.clusterScoped
_namespace_at(namespace, entry, "targets") := namespace if not entry.clusterScoped
_namespace_at(namespace, _, "policies") := namespace

# The values at a pointer, where `*` is each item: of a list all items, otherwise the value.
_values_at(obj, segments) := [value |
	some found in _items_at(obj, segments)
	some value in _as_list(found)
]

_items_at(obj, segments) := [found] if {
	not "*" in segments
	found := object.get(obj, segments, null)
	found != null
} else := [] if {
	not "*" in segments
} else := [found |
	place := [position | some position, segment in segments; segment == "*"][0]
	some item in _as_list(object.get(obj, array.slice(segments, 0, place), []))
	found := object.get(item, array.slice(segments, place + 1, count(segments)), null)
	found != null
]

_as_list(value) := value if {
	is_array(value)
} else := [value]

# What a binding object selects by labels, as `[namespace, type, text]`; everything, if it has no selector.
_selections_of_binding(type, obj) := {[home, entry.selects, json.marshal(selector)] |
	some entry in _ways_to_bind(type)
	entry.selects
	home := _home_of_selected(entry.selects, obj.metadata)
	selector := index.label_selector(_selector_in(obj, entry.targets))
}

_home_of_selected(type, _) := "-" if kinds.cluster_scoped(type)
_home_of_selected(type, metadata) := keys.namespace_name(object.get(metadata, "namespace", "")) if not kinds.cluster_scoped(type)

_selector_in(obj, pointer) := {} if object.get(obj, pointer, null) == null

_selector_in(obj, pointer) := value if {
	value := object.get(obj, pointer, null)
	value != null
}

# Some object binds policies, also by the query's changes.
has_bindings if index.has_bindings

has_bindings if {
	not lookup.has_no_changes
	some _ in _changed_bindings
}

# The binding objects of which an object is a target ("bindings"), or that bind it ("bound").
_binding_objects(part, key) := index.policies_at(part, key) if {
	lookup.has_no_changes
} else := (index.policies_at(part, key) - object.keys(_described_again)) | {binding | some binding in _changed_bindings[part][key]}

_changed_bindings[part][end] contains binding if {
	not lookup.has_no_changes
	some binding, obj in _described_again
	some part, field in {"bound": "policies", "bindings": "targets"}
	some end in _ends(keys.type_of(binding), obj, field)
}

# The binding objects that the query changes, or all, if it changes how kinds are described.
_described_again := {key: lookup.get(key) | some key, _ in lookup.upserts; kinds.sets.binding[keys.type_of(key)]} if {
	not kinds.has_changes
} else := {key: lookup.get(key) | some type, _ in kinds.sets.binding; some key in lookup.keys_of(type)}

# The kinds of the policies that these bind.
kinds_of_changed_bindings := {policy_kind |
	some binding, _ in _described_again
	some policy_kind, _ in kinds.sets.binding[keys.type_of(binding)]
}

# The policies that binding objects bind to an object.
policies_bound_to(object_key) := set() if {
	not has_bindings
} else := {policy |
	some path in _paths_up(object_key)
	_is_placing(path)
	policy := path[count(path) - 1]
}

# The refs of a policy to the objects that binding objects bind it to, in the order of their keys, as if the policy named
# each.
bound_refs(policy_key) := [] if {
	not has_bindings
} else := [bound_ref(key) |
	some key in sort({key |
		some path in _paths_down(policy_key)
		_is_placing(array.reverse(path))
		key := path[count(path) - 1]
	})
]

bound_ref(object_key) := object.union(object_ref(object_key), {"anywhere": true})

# The spec of a policy at a target: with what the binding objects on the ways to it set there instead of the policy.
spec_at(policy_key, target) := facts(policy_key).spec if {
	not kinds.is_bound(keys.type_of(policy_key))
} else := object.union(facts(policy_key).spec, {field: _united([value | some [name, value] in set_there; name == field]) |
	some [field, _] in set_there
}) if {
	set_there := {[one.to[0], value] |
		some path in _paths_up(target)
		path[count(path) - 1] == policy_key
		not _is_excluded(path)
		some node in path
		some entry in _ways_to_bind(keys.type_of(node))
		some one in entry.overrides
		value := object.get(lookup.get(node), one.from, null)
		value != null
	}
}

# The lists of several binding objects are united; their other values are equal in most cases.
_united([value]) := value

_united(values) := sort({item | some value in values; some item in value}) if {
	count(values) > 1
	every value in values {
		is_array(value)
	}
} else := values[0] if {
	count(values) > 1
}

_may_bind(key) if count(_ends_of(key, "policies")) > 0
_may_bind(key) if _binding_objects("bindings", key) != set()

# The policies that a change of these objects may bind, or no longer bind, with the index paths that they had: what is
# bound above them, and above the former ends of binding objects.
policies_bound_through(changed, paths) := {node |
	ends := {end | some ["bound", end] in paths} | {key |
		some key in changed
		_may_bind(key)
	}
	some end in ends
	some path in _walk_up(end)
	node := path[count(path) - 1]
	kinds.is_bound(keys.type_of(node))
}

# The objects to which policies may have been bound through these objects, or through their former targets, as
# `[kind, target]`.
targets_bound_through(changed, paths) := {[policy_kind, node] |
	some end in ({end | some ["bindings", end] in paths} | changed)
	some path in _walk_down(end)
	node := path[count(path) - 1]
	some policy_kind in kinds_of_bound
	kinds.may_target(policy_kind, keys.type_of(node))
}

# The kinds whose policies are bound.
kinds_of_bound := {policy_kind | some type, _ in kinds.sets.binding; some policy_kind, _ in kinds.sets.binding[type]}

# The ways from an object up to a policy of a kind that may target it, as lists of keys; every object between them exists.
_paths_up(object_key) := {path |
	some path in _walk_up(object_key)
	policy := path[count(path) - 1]
	count(path) > 1
	kinds.is_bound(keys.type_of(policy))
	kinds.may_target(keys.type_of(policy), keys.type_of(object_key))
	_exist_between(path)
}

# The ways from a policy down to the objects that its kind may target.
_paths_down(policy_key) := {path |
	some path in _walk_down(policy_key)
	count(path) > 1
	kinds.may_target(keys.type_of(policy_key), keys.type_of(path[count(path) - 1]))
	_exist_between(path)
}

_exist_between(path) if {
	every node in array.slice(path, 1, count(path) - 1) {
		lookup.has_object(node)
	}
}

# A way from a target up to a policy places the policy there.
_is_placing(path) if {
	not _is_excluded(path)
	every node in path {
		not _is_restricted(node)
	}
	_is_within(path)
}

# A binding object that only changes what others bind.
_is_restricted(node) if {
	some entry in _ways_to_bind(keys.type_of(node))
	object.get(lookup.get(node), entry.restricted.segments, null) == entry.restricted.value
}

# An object on the way leaves out the policy at this target.
_is_excluded(path) if {
	some node in path
	some entry in _ways_to_bind(keys.type_of(node))
	some exclusion in _as_list(object.get(lookup.get(node), entry.exclusions.path, []))
	object.get(exclusion, entry.exclusions.policy, null) == keys.parse(path[count(path) - 1]).name
	keys.parse(path[0]).name in object.get(exclusion, entry.exclusions.targets, [])
}

# The policy itself selects the target, too.
_is_within(path) if {
	target := keys.parse(path[0])
	labels_of_target := own_labels(target.type, target.name, object.get(lookup.get(path[0]).metadata, "labels", {}))
	every pointer in {entry.within | some node in path; some entry in _ways_to_bind(keys.type_of(node)); entry.within} {
		labels.selects(index.label_selector(object.get(lookup.get(path[count(path) - 1]), pointer, {})), labels_of_target)
	}
}

# All ways from an object, up to six steps. Rego has no recursion, so the steps are written out.
_walk_up(key) := _ways({[key]}, "up")
_walk_down(key) := _ways({[key]}, "down")

_ways(paths, direction) := union({paths, a, b, c, d, e, f}) if {
	a := _next_ways(paths, direction)
	b := _next_ways(a, direction)
	c := _next_ways(b, direction)
	d := _next_ways(c, direction)
	e := _next_ways(d, direction)
	f := _next_ways(e, direction)
}

_next_ways(paths, direction) := {array.concat(path, [node]) |
	some path in paths
	some node in _bound_step(direction, path[count(path) - 1])
	not node in path
}

_bound_step("up", key) := _ends_of(key, "policies") | (_binding_objects("bindings", key) | _bindings_selecting(key))
_bound_step("down", key) := (_ends_of(key, "targets") | _selected_by_binding(key)) | _binding_objects("bound", key)

_ends_of(key, field) := _ends(keys.type_of(key), lookup.get(key), field) if {
	kinds.sets.binding[keys.type_of(key)]
	lookup.get(key)
} else := set()

_bindings_selecting(key) := {binding |
	parts := keys.parse(key)
	parts.type in _types_selected_by_bindings
	some [binding, text] in _binding_selections(parts.namespace, parts.type)
	selects_object(text, key)
}

_types_selected_by_bindings := {entry.selects | some type, _ in kinds.sets.binding; some entry in _ways_to_bind(type)}

_binding_selections(namespace, type) := {[binding, text] |
	some [binding, text] in index.policies_selecting(namespace, type)
	kinds.sets.binding[keys.type_of(binding)]
} if {
	lookup.has_no_changes
} else := {[binding, text] |
	some [binding, text] in index.policies_selecting(namespace, type)
	kinds.sets.binding[keys.type_of(binding)]
	not _described_again[binding]
} | {[binding, text] |
	some binding, obj in _described_again
	some [home, selected, text] in _selections_of_binding(keys.type_of(binding), obj)
	[home, selected] == [namespace, type]
}

_selected_by_binding(key) := {ref.object |
	kinds.sets.binding[keys.type_of(key)]
	some [namespace, type, text] in _selections_of_binding(keys.type_of(key), lookup.get(key))
	some ref in selected_refs(namespace, type, text)
}
