package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# A rule may delegate requests to routes, which it names as backends: these routes, and what is below them, are below the rule.
# Gateway API leaves that to implementations; the rules are kgateway's (2.4, pkg/kgateway/utils/delegation).

# A rule has no backends but routes, so it serves no requests itself, whether these routes exist or not.
delegates(rule) if {
	levels.of(rule) == "Rule"
	refs := rule_of(rule).backendRefs
	count(refs) > 0
	every ref in refs {
		index.names_delegates(index.backend_key(ref, keys.namespace(rule)))
	}
}

# The nodes directly above a node by extension modules or by the description of a policy kind, and the rules that delegate
# to a route: by its name, by its label, or with all routes of its namespace.
extended_above(node) := set() if {
	not index.has_extension_links
} else := {above |
	some above in index.declared_extension_parents(node)
	not index.is_delegation_label(above)
} | ({rule |
	levels.of(node) == "Route"
	some group in _groups_of(node)
	some rule in index.declared_extension_parents(group)
	keys.whole(rule) != node
} | placed_above(node))

# The keys by which rules may name a route together with others.
_groups_of(route_key) := {label |
	some label in index.declared_extension_parents(route_key)
	index.is_delegation_label(label)
} | {every_route(route_key)}

every_route(route_key) := concat("/", [keys.type_of(route_key), keys.namespace(route_key), "*"])

# The routes that a key of a group names, or else the node itself.
routes_named(node) := index.declared_children(node) if {
	index.is_delegation_label(node)
} else := {keys.format(parts.group, parts.kind, parts.namespace, name) | some name, _ in lookup.objects_in(parts.type, parts.namespace)} if {
	endswith(node, "/*")
	parts := keys.parse(node)
} else := {node}

# Why a rule cannot delegate to a route, as the reason of a condition: the route names other parents, or hostnames, which
# it has from the delegating route, or nothing that it matches is within what the rule matches. Undefined if it can, and for
# links of extension modules between other levels.
delegation_refusal(rule, route_key) := "NotItsParent" if {
	_is_delegation(rule, route_key)
	refs := lookup.get(route_key).spec.parentRefs
	count(refs) > 0
	named := {index.parent_key(ref, keys.namespace(route_key)) | some ref in refs}
	not keys.whole(rule) in named
} else := "HostnamesOfDelegate" if {
	_is_delegation(rule, route_key)
	count(lookup.get(route_key).spec.hostnames) > 0
} else := "NoMatchWithin" if {
	_is_delegation(rule, route_key)
	every own in _rules_of(route_key) {
		not _takes_over(rule_of(rule), own, inherits_matches(route_key))
	}
}

_is_delegation(rule, route_key) if {
	levels.of(rule) == "Rule"
	levels.of(route_key) == "Route"
}

# A rule of a path matches nothing of what the rule above delegates to its route.
misses_matches(path) if {
	some place, route_key in path
	_is_delegation(path[place - 1], route_key)
	levels.of(path[place + 1]) == "Rule"
	not _takes_over(rule_of(path[place - 1]), rule_of(path[place + 1]), inherits_matches(route_key))
}

_rules_of(route_key) := object.get(lookup.get(route_key).spec, "rules", [])

# METADATA
# description: A route with this annotation adds its matches to those of the rule that delegates to it.
matches_annotation := "delegation.kgateway.dev/inherit-parent-matcher"

inherits_matches(route_key) := lower(object.get(object.get(lookup.get(route_key).metadata, "annotations", {}), matches_annotation, "")) in {"true", "yes", "enabled"}

_takes_over(_, _, true)

_takes_over(above, below, false) if {
	some outer in written_matches(above)
	some inner in written_matches(below)
	is_match_within(outer, inner)
}

is_match_within(outer, inner) if {
	object.get(outer, ["path", "type"], "PathPrefix") == "PathPrefix"
	startswith(object.get(inner, ["path", "value"], "/"), object.get(outer, ["path", "value"], "/"))
	object.get(outer, "method", object.get(inner, "method", "")) == object.get(inner, "method", "")
	every field in ["headers", "queryParams"] {
		every wanted in object.get(outer, field, []) {
			wanted in object.get(inner, field, [])
		}
	}
}
