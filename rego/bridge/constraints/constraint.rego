# METADATA
# title: Constraints
# description: |
#   The evaluation of a Constraint for an object: whether it matches, the parameters for its policy, and the policy's
#   result. A policy is an admin's package with Gatekeeper's contract, rules `violation` over `input.review` and
#   `input.parameters`; the generated package `bridge.constraints.dispatch` refers to it.
package bridge.constraints

import data.bridge.constraints.dispatch
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

type := "policybridge.io/Constraint"

all_constraints := lookup.objects_in(type, "-")

# The spec of each valid Constraint, by its name, including those whose policy is not loaded: the objects that they
# match are violations.
active_constraints[name] := obj.spec if {
	some name, obj in all_constraints
	fact(name, "valid")
}

fact(name, field) := data.facts["policybridge.io"].Constraint["-"][name][field] if {
	not _changed[name]
} else := facts(all_constraints[name])[field]

_changed := {keys.parse(key).name | some key in lookup.changed_keys; keys.type_of(key) == type}

# What the replicator stores of a Constraint, because to check the schema of 20 takes longer than what they judge.
facts(obj) := {
	"valid": problems(object.get(obj, "spec", null)) == [],
	"parameters": parameter_problems_of(object.get(obj, "spec", null)),
}

is_loaded(policy) if policy in dispatch.policies

action(spec) := object.get(spec, "enforcementAction", "deny")

# The parameters for a subject that the Constraint matches: `{parameters}`, or `{unselected}` if no entry of
# parameterSelection matches and that has its own effect: allow, warn or deny.
selection(spec, it) := {"parameters": object.get(spec, "parameters", {})} if {
	not spec.parameterSelection
} else := {"parameters": _merge_parameters(array.concat([own], [entry.parameters | some entry in chosen]))} if {
	chosen := _chosen(spec, it)
	_proceeds(spec, chosen)
	own := object.get(spec, "parameters", {})
} else := {"unselected": _no_match(spec)}

_proceeds(_, chosen) if chosen != []
_proceeds(spec, _) if _no_match(spec) == "proceed"

_no_match(spec) := object.get(spec, "onParameterSelectionNoMatch", "proceed")

_chosen(spec, it) := array.slice(fitting, 0, bound) if {
	fitting := [entry |
		some entry in object.get(spec, "parameterSelection", [])
		matches(object.get(entry, "match", {}), it)
	]
	bound := _bound(object.get(spec, "parameterSelectionBehavior", ""), count(fitting))
}

_bound("MatchAny", number) := number
_bound(behavior, _) := 1 if behavior != "MatchAny"

# A match selects a subject: all its fields match. An absent or empty match selects everything.
matches(match, it) if {
	_kind_matches(object.get(match, "kinds", []), it.group, it.kind)
	_scope_matches(object.get(match, "scope", "*"), it.scope)
	_namespace_matches(object.get(match, "namespaces", []), it.namespace)
	not _is_in(object.get(match, "excludedNamespaces", []), it.namespace)
	labels.selects(object.get(match, "labelSelector", {}), it.labels)
	_namespace_selected(object.get(match, "namespaceSelector", {}), it)
	_globbed(object.get(match, "name", ""), it.name)
}

# A match selects objects of this type (`<group>/<Kind>`) by their kind.
matches_type(match, object_type) if {
	[group, kind] := split(object_type, "/")
	_kind_matches(object.get(match, "kinds", []), keys.api_group(group), kind)
}

_kind_matches([], _, _)

_kind_matches(kinds, group, kind) if {
	some entry in kinds
	_listed(object.get(entry, "kinds", []), kind)
	_listed(object.get(entry, "apiGroups", []), group)
}

_listed([], _)
_listed(list, name) if name in list
_listed(list, _) if "*" in list

_scope_matches("*", _)
_scope_matches(scope, scope)

# Namespaces do not restrict a cluster-scoped subject, which is in none.
_namespace_matches([], _)
_namespace_matches(_, "")
_namespace_matches(patterns, namespace) if _is_in(patterns, namespace)

_is_in(patterns, namespace) if {
	namespace != ""
	some pattern in patterns
	_globbed(pattern, namespace)
}

_namespace_selected(_, it) if it.namespace == ""

_namespace_selected(selector, it) if {
	is_namespace(it)
	labels.selects(selector, object.union(it.labels, {"kubernetes.io/metadata.name": it.name}))
} else if {
	not is_namespace(it)
	labels.selects(selector, lookup.namespace_labels(it.namespace))
}

# A name, with an optional * before it, after it, or both.
_globbed("", _)
_globbed(pattern, pattern)

_globbed(pattern, text) if {
	named := trim(pattern, "*")
	named != pattern
	contains(text, named)
	_begins(pattern, text, named)
	_ends(pattern, text, named)
}

_begins(pattern, _, _) if startswith(pattern, "*")
_begins(_, text, named) if startswith(text, named)

_ends(pattern, _, _) if endswith(pattern, "*")
_ends(_, text, named) if endswith(text, named)

# Layered parameters, the lowest first: maps merge, a list appends its items that the list below lacks, any other
# value replaces the one below.
_merge_parameters(layers) := json.patch(whole, [{"op": "replace", "path": path, "value": value} |
	some path in _list_paths(layers)
	value := _appended(_lists(layers, path))
]) if whole := object.union_n(layers)

# The paths of lists in the layers above the first. Lists within lists are ordinary values.
_list_paths(layers) := {path |
	some layer in array.slice(layers, 1, count(layers))
	walk(layer, [path, _])
	every segment in path {
		is_string(segment)
	}
}

# The lists at a path, above the last layer that has another value there, or instead of a map above it.
_lists(layers, path) := [list |
	replacing := {place |
		some place, layer in layers
		some length in numbers.range(1, count(path))
		value := object.get(layer, array.slice(path, 0, length), _absent)
		value != _absent
		type_name(value) != _type_at(length, count(path))
	}
	some place, layer in layers
	place > max(replacing | {-1})
	list := object.get(layer, path, null)
	is_array(list)
]

_type_at(depth, depth) := "array"
_type_at(length, depth) := "object" if length != depth

_absent := "\u0000"

# The first list, followed by the new items of each further list.
_appended(lists) := array.concat(lists[0], [item |
	further := [item | some place, list in lists; place > 0; some item in list]
	some place, item in further
	not item in lists[0]
	not item in array.slice(further, 0, place)
])

# The fields of an object that a match reads: `{group, kind, namespace, name, labels, scope}`. As in Gatekeeper, a
# Namespace counts as an object in itself, and other cluster-scoped objects are in no namespace.
subject(obj) := {
	"group": keys.api_group(keys.group(obj.apiVersion)),
	"kind": obj.kind,
	"namespace": _namespace(obj),
	"name": _name(obj.metadata),
	"labels": _labels(obj.metadata),
	"scope": _scope(object.get(obj.metadata, "namespace", "")),
}

_scope("") := "Cluster"
_scope(namespace) := "Namespaced" if namespace != ""

is_namespace(it) if [it.group, it.kind] == ["", "Namespace"]

_namespace(obj) := obj.metadata.name if {
	[obj.apiVersion, obj.kind] == ["v1", "Namespace"]
} else := object.get(obj.metadata, "namespace", "")

# For an object without a name yet, the prefix of its name.
_name(metadata) := metadata.name if {
	metadata.name != ""
} else := object.get(metadata, "generateName", "")

_labels(metadata) := metadata.labels if {
	is_object(metadata.labels)
} else := {}
