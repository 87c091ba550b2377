package bridge.constraints

import data.bridge.lib.labels
import data.bridge.lookup

# METADATA
# description: |
#   A match selects a subject: all its fields match. An absent or empty match selects everything.
matches(match, it) if {
	_kind_matches(object.get(match, "kinds", []), it.group, it.kind)
	_scope_matches(object.get(match, "scope", "*"), it.scope)
	_namespace_matches(object.get(match, "namespaces", []), it.namespace)
	not _excluded(object.get(match, "excludedNamespaces", []), it.namespace)
	labels.selects(object.get(match, "labelSelector", {}), it.labels)
	_namespace_selected(object.get(match, "namespaceSelector", {}), it)
	_globbed(object.get(match, "name", ""), it.name)
}

# METADATA
# description: A match selects objects of this type (`<group>/<Kind>`) by their kind.
matches_type(match, object_type) if {
	[group, kind] := split(object_type, "/")
	_kind_matches(object.get(match, "kinds", []), api_group(group), kind)
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

_scope_matches(scope, scope) if scope != "*"

_namespace_matches([], _)

# A cluster-scoped subject is in none of the other namespaces.
_namespace_matches(patterns, "") if count(patterns) > 0

_namespace_matches(patterns, namespace) if {
	namespace != ""
	some pattern in patterns
	_globbed(pattern, namespace)
}

_excluded(patterns, namespace) if {
	namespace != ""
	some pattern in patterns
	_globbed(pattern, namespace)
}

_namespace_selected({}, _)

_namespace_selected(selector, it) if {
	selector != {}
	it.namespace == ""
}

_namespace_selected(selector, it) if {
	is_namespace(it)
	labels.selects(selector, object.union(it.labels, {"kubernetes.io/metadata.name": it.name}))
}

_namespace_selected(selector, it) if {
	it.namespace != ""
	not is_namespace(it)
	labels.selects(selector, lookup.namespace_labels(it.namespace))
}

# A name, with an optional * before it, after it, or both.
_globbed("", _)

_globbed(pattern, pattern) if pattern != ""

_globbed(pattern, text) if {
	startswith(pattern, "*")
	endswith(pattern, "*")
	contains(text, trim(pattern, "*"))
}

_globbed(pattern, text) if {
	endswith(pattern, "*")
	not startswith(pattern, "*")
	startswith(text, trim_suffix(pattern, "*"))
}

_globbed(pattern, text) if {
	startswith(pattern, "*")
	not endswith(pattern, "*")
	endswith(text, trim_prefix(pattern, "*"))
}
