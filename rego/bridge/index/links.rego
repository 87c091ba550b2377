package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# title: Index
# description: |
#   The declarations of one object, each once: `{above, below, served, claims, extended, members, targets, classes,
#   selectors, oversized, facts}` (docs/appendix/documents.md); a field without values is absent. A function of the
#   object only: queries decide whether a link counts. `entries` has the same in the form for the replicator. An
#   initial sync computes the links of every object: OPA evaluates functions of shared values once for a query.
links(obj) := links_of_type(keys.type(obj.apiVersion, obj.kind), obj)

links_of_type(type, obj) := _of_level(levels.of_type(type), type, obj) if {
	_link_modules == set()
	object.filter(obj.spec, target_fields) == {}
} else := object.union_n([
	_of_level(levels.of_type(type), type, obj),
	target_links(obj),
	_extension_fields(_of_level(levels.of_type(type), type, obj), _extension_links(obj)),
])

# The declarations that the level of an object allows.
default _of_level(_, _, _) := {}

_of_level(level, type, obj) := object.union_n([
	{"above": above | above := _named_above(level, obj); above != set()},
	{"below": below | below := _named_below(level, obj); below != set()},
	{"claims": claims |
		level == "ListenerSet"
		claims := {[port, slot] | some port, slots in facts_of_listeners.claims; some slot, _ in slots}
		claims != set()
	},
	{"facts": facts_of_listeners},
]) if {
	level in {"Gateway", "ListenerSet"}
	facts_of_listeners := facts_at("Listener", type, obj)
}

_of_level("Route", type, obj) := object.union_n([
	{"above": above | above != set()},
	{"below": below | below != set()},
	{"served": found | above != set(); found := _served_requests(type, obj.spec)},
	{"members": ends | ends := _unleveled(above | below); ends != set()},
	{"facts": facts_of_route},
	{"extended": found | found := _delegations(facts_of_route.sections, obj) | _as_delegate(obj); found != set()},
]) if {
	facts_of_route := facts_at("Rule", type, obj)
	above := _named_above("Route", obj)
	below := _named_below("Route", obj)
}

# A rule delegates requests to the routes that it names as backends (kgateway), by their names, by a label, or by `*`:
# `[rule, route]`.
_delegations(sections, route) := {[keys.section(keys.of(route), sections[place]), child] |
	some place, rule in route.spec.rules
	some ref in rule.backendRefs
	child := backend_key(ref, route.metadata.namespace)
	names_delegates(child)
}

# METADATA
# description: A key that a rule names as backend is a route, all routes of a namespace (`*`), or those with a label.
names_delegates(key) if levels.shipped[keys.type_of(key)].object == "Route"
names_delegates(key) if is_delegation_label(key)

is_delegation_label(key) if startswith(key, "delegation.kgateway.dev/label/")

# METADATA
# description: A key that a rule names as backend can be several routes.
names_several(key) if is_delegation_label(key)
names_several(key) if endswith(key, "/*")

# A spec has one of these texts if it names several routes.
texts_of_several := ["*", "delegation.kgateway.dev"]

# The keys by which rules name a route through its label, `[label, route]`: those of its own namespace and of all.
_as_delegate(route) := {[keys.named("delegation.kgateway.dev", "label", namespace, value), keys.of(route)] |
	value := route.metadata.labels["delegation.kgateway.dev/label"]
	some namespace in [route.metadata.namespace, "all"]
}

_extension_fields(own, extension_pairs) := object.union({"extended": links_placed}, {"members": ends | count(ends) > 0}) if {
	count(extension_pairs) > 0
	links_placed := object.get(own, "extended", set()) | extension_pairs
	ends := object.get(own, "members", set()) | _unleveled({keys.whole(node) | some link in extension_pairs; some node in link})
} else := {}

# The objects among the ends of links whose kinds have no level: only a link places them in the hierarchy, below their
# Namespace.
_unleveled(ends) := {trim_suffix(end, "@frontend") |
	some end in ends
	not strings.any_prefix_match(end, ["gateway.networking.k8s.io/", "core/"])
	not levels.by_type[keys.type_of(end)]
}

# The key of the object that a parentRef of a route or ListenerSet in a namespace names; undefined if such an object
# cannot exist.
parent_key(ref, namespace) := keys.named(
	object.get(ref, "group", keys.gateway_api),
	object.get(ref, "kind", "Gateway"),
	object.get(ref, "namespace", namespace),
	ref.name,
)

# The node that a parentRef names. An object that is neither a Gateway nor a ListenerSet, and of no other known level,
# is a mesh frontend.
parent_node(ref, namespace) := node if {
	node := parent_key(ref, namespace)
	levels.of_type(keys.type_of(node)) != "Backend"
} else := keys.frontend(parent_key(ref, namespace))

# The key of the object that a backendRef of a route in this namespace names (a Service by default). Undefined if such
# an object cannot exist.
backend_key(ref, namespace) := keys.named(
	object.get(ref, "group", ""),
	object.get(ref, "kind", "Service"),
	object.get(ref, "namespace", namespace),
	ref.name,
)

# The refs to backends of a rule: its backendRefs, then those of its filters and of its backends' own filters (Gateway
# API, HTTPRequestMirrorFilter, HTTPExternalAuthFilter). A filter's backend gets requests too, so it is a backend of the
# rule.
backend_refs(rule) := array.concat([ref | some ref in rule.backendRefs], _filter_refs([rule]))

# The same refs by their places in the rule.
placed_backend_refs(rule) := object.union(
	{sprintf("backendRefs[%d]", [place]): ref | some place, ref in rule.backendRefs},
	{concat("", [place, ".", _backend_filters[filter.type], ".backendRef"]): ref |
		some [place, filter] in placed_filters(rule)
		ref := filter_ref(filter)
	},
)

# The filters of a rule and of its backends, as `[place in the rule, filter]`.
placed_filters(rule) := array.concat(
	[[sprintf("filters[%v]", [place]), filter] | some place, filter in rule.filters],
	[[sprintf("backendRefs[%v].filters[%v]", [number, place]), filter] |
		some number, ref in rule.backendRefs
		some place, filter in ref.filters
	],
)

# The refs to backends in the filters of rules, and in the filters of the rules' own backends.
_filter_refs(rules) := [ref |
	some filters in array.concat([rule.filters | some rule in rules], [ref.filters | some rule in rules; some ref in rule.backendRefs])
	some filter in filters
	ref := filter_ref(filter)
]

filter_ref(filter) := filter[_backend_filters[filter.type]].backendRef

# The types of the filters that have their own backend, each with its field (HTTPRouteFilter.type).
_backend_filters := {"RequestMirror": "requestMirror", "ExternalAuth": "externalAuth"}

# Extension modules are packages `bridge.extensions.hierarchy.<name>` that an admin writes (design, "Hierarchy"):
# `levels` assigns levels to kinds, `virtual` lists kinds that no API server serves, `links` declares links of one
# object. Values of another form are ignored, and `extension_problems` reports them.

# The links that extension modules declare for one object, `[parent, child]`, nodes. The parent may be a section; the
# child is an object or a frontend.
_extension_links(obj) := {link |
	some name in _link_modules
	some link in data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	_is_link(link)
}

# The names of the extension modules that declare links. No object is evaluated for it, whose author could make it fail.
_link_modules := {name | data.bridge.extensions.hierarchy[name].links with input as {}}

_is_link(link) if {
	is_array(link)
	[parent, child] := link
	keys.parse(parent).role in {"", "frontend"}
	keys.parse(child).role in {"", "frontend"}
	keys.parse(child).section == ""
}

# Results of extension modules with an invalid form, `[module, message]`. They are ignored, so one wrong module never
# stops a query.
extension_problems contains [name, "levels must be an object: <group>/<Kind> > {object, section}"] if {
	by_type := data.bridge.extensions.hierarchy[name].levels
	not is_object(by_type)
}

extension_problems contains [name, message] if {
	some name, by_type in levels.by_module
	some type, at in by_type
	first := sort([other | some other, types in levels.by_module; types[type]])[0]
	some message in array.flatten([
		[sprintf("levels: %v is not a type, write <group>/<Kind>", [type]) | not levels.is_type(type)],
		[sprintf("levels of %s: %v is not {object: a level, section: Listener, Rule or Port}", [type, at]) | not levels.is_level(at)],
		[sprintf("levels of %s: the bridge knows that kind, its level stays %s", [type, known.object]) | known := levels.shipped[type]],
		[sprintf("levels of %s: the module %s gives them already", [type, first]) | first != name],
	])
}

extension_problems contains [name, "virtual must be a set of types, <group>/<Kind>"] if {
	types := data.bridge.extensions.hierarchy[name].virtual
	not is_set(types)
	not is_array(types)
}

extension_problems contains [name, sprintf("virtual: %v is not a type, write <group>/<Kind>", [type])] if {
	some type in data.bridge.extensions.hierarchy[name].virtual
	not levels.is_type(type)
}

# The same for the links that modules declare for one object.
extension_link_problems(obj) := {[name, "links must be a set of [parent, child]"] |
	some name in _link_modules
	made := data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	not is_set(made)
	not is_array(made)
} | {[name, message] |
	some name in _link_modules
	some link in data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	not _is_link(link)
	message := sprintf("links of %s: %v is not [parent, child], two keys, the child without a section", [keys.of(obj), link])
}

# The fields that `links` reads, as JSON Pointers (`*`: each item of a list). An object that has one of the fields
# `with` is read as a whole, except its status and the rest of its metadata, because policies are measured (semantics
# T6). A change of other fields changes no links, and clients may omit these fields. Null while extension modules
# declare links or levels, because the fields that they read are unknown.
link_fields := null if {
	count(_link_modules) + count(levels.extensions) > 0
} else := [
	"/apiVersion", "/kind",
	"/metadata/name", "/metadata/namespace", "/metadata/creationTimestamp", "/metadata/deletionTimestamp",
	"/metadata/labels/delegation.kgateway.dev~1label",
	"/spec/defaultScope", "/spec/gatewayClassName", "/spec/hostnames", "/spec/listeners",
	"/spec/parentRef", "/spec/parentRefs", "/spec/useDefaultGateways",
	"/spec/rules/*/name", "/spec/rules/*/matches/*/method", "/spec/rules/*/matches/*/path",
	"/spec/rules/*/backendRefs/*/group", "/spec/rules/*/backendRefs/*/kind",
	"/spec/rules/*/backendRefs/*/name", "/spec/rules/*/backendRefs/*/namespace",
	"/spec/rules/*/backendRefs/*/filters/*/externalAuth/backendRef",
	"/spec/rules/*/backendRefs/*/filters/*/requestMirror/backendRef", "/spec/rules/*/backendRefs/*/filters/*/type",
	"/spec/rules/*/filters/*/externalAuth/backendRef",
	"/spec/rules/*/filters/*/requestMirror/backendRef", "/spec/rules/*/filters/*/type",
	{"with": "/spec/targetRef"}, {"with": "/spec/targetRefs"}, {"with": "/spec/targetSelectors"}, {"with": "/spec/targetReference"},
]

# The objects of which the links are the same except for texts. Two objects of one of `types` that are equal in the
# fields of `link_fields`, except in those that are `unread` and in the texts at the pointers `texts`, have the same links
# with other texts, as long as equal texts of one are equal in the other: the rules compare these texts, join and sort
# them, cut them at `/`, write them in lower case, and look no further into them.
link_shapes := null if {
	link_fields == null
} else := {
	"types": {type | some type, level in levels.shipped; level.object == "Route"},
	"unread": ["/metadata/creationTimestamp", "/metadata/deletionTimestamp"],
	"texts": array.concat(
		[
			"/metadata/name", "/metadata/namespace", "/metadata/labels/delegation.kgateway.dev~1label",
			"/spec/hostnames/*", "/spec/rules/*/name",
			"/spec/rules/*/matches/*/path/value", "/spec/parentRefs/*/name", "/spec/parentRefs/*/namespace",
			"/spec/parentRefs/*/sectionName",
		],
		[concat("/", [backend, field]) |
			some backend in [
				"/spec/rules/*/backendRefs/*",
				"/spec/rules/*/backendRefs/*/filters/*/externalAuth/backendRef",
				"/spec/rules/*/backendRefs/*/filters/*/requestMirror/backendRef",
				"/spec/rules/*/filters/*/externalAuth/backendRef",
				"/spec/rules/*/filters/*/requestMirror/backendRef",
			]
			some field in ["name", "namespace"]
		],
	),
}

# The keys of the objects and frontends that an object of a level names above itself, as class, Gateway or parents.
default _named_above(_, _) := set()

_named_above("Gateway", obj) := {keys.named(keys.gateway_api, "GatewayClass", "", obj.spec.gatewayClassName)}
_named_above("ListenerSet", obj) := {gateway_of(obj)}

_named_above("Route", route) := default_keys(object.get(route.spec, "useDefaultGateways", "None")) | _parents_named(
	object.get(route.spec, "parentRefs", []),
	route.metadata.namespace,
)

# The nodes that parentRefs of a namespace name. Many routes have the same parentRefs.
_parents_named(refs, namespace) := {parent_node(ref, namespace) | some ref in refs}

gateway_of(listener_set) := parent_key(listener_set.spec.parentRef, listener_set.metadata.namespace)

default _named_below(_, _) := set()

_named_below("Gateway", gateway) := default_keys(gateway.spec.defaultScope)
_named_below("Route", route) := _backends_of_rules(route.spec.rules, route.metadata.namespace)

# The objects that a route names as parents and as backends.
ends_of_route(route) := {trim_suffix(node, "@frontend") | some node in (_named_above("Route", route) | _named_below("Route", route))}

# The objects that rules of a namespace name as backends, including their filters' backends.
_backends_of_rules(rules, namespace) := _backends_named([rule.backendRefs | some rule in rules], namespace) | _backends_named([_filter_refs(rules)], namespace)

# The objects that lists of backendRefs of a namespace name. Routes of a namespace often have the same backends.
_backends_named(lists, namespace) := {backend_key(ref, namespace) | some refs in lists; some ref in refs}

# The key between default Gateways and the routes that use them (Gateway API, Gateway.spec.defaultScope and
# useDefaultGateways of a route): below the former and above the latter in the index. No object can have this key.
default_gateways_key := "gateway.networking.k8s.io/Gateway/-/All"

# The same for a scope, as a set; empty except for All, the only scope that Gateway API defines besides None.
default_keys(scope) := {default_gateways_key | scope == "All"}

# For a route with more paths, the index has the first segments.
_path_bound := 16

# Each path is an entry for each hostname at each parent. A route with more entries is found by hostname only, so its
# author cannot make OPA write for seconds.
_entry_bound := 512

# The request fields by which a route is found, `{hostnames, paths}`: at each of its parents, for each hostname (`*`:
# any), by the paths that it matches or their prefixes (`/`: any, `*`: unknown or none). A gRPC method is the path
# `/<service>/<method>`. Only routes at a request's path or its prefixes can serve it.
_served_requests(type, spec) := {
	"hostnames": names,
	"paths": _paths_served(type, [object.get(rule, "matches", []) | some rule in spec.rules], most),
} if {
	hostnames := object.get(spec, "hostnames", [])
	names := {lower(name) | some name in hostnames} | {"*" | count(hostnames) == 0}
	most := _most_paths(count(names), count(object.get(spec, "parentRefs", [])))
}

# Many routes have equal numbers of hostnames and parents.
_most_paths(hostnames, parents) := min([_path_bound, floor(_entry_bound / (hostnames * max([parents, 1])))])

# Many routes match the same paths.
_paths_served(type, lists, most) := {"*"} if {
	lists == []
} else := _few({path | some matches in lists; some path in _paths_of(type, matches)}, most)

_paths_of(type, matches) := {_path(type, match) | some match in matches} | {_path(type, {}) | count(matches) == 0}

_few(paths, most) := paths if {
	count(paths) <= most
} else := firsts if {
	firsts := {concat("/", array.slice(split(path, "/"), 0, 2)) | some path in paths}
	count(firsts) <= most
} else := {"*"}

_path("gateway.networking.k8s.io/HTTPRoute", match) := without_last_slash(object.get(match, ["path", "value"], "/")) if {
	object.get(match, ["path", "type"], "PathPrefix") != "RegularExpression"
} else := "*"

_path("gateway.networking.k8s.io/GRPCRoute", match) := without_last_slash(sprintf("/%s/%s", [match.method.service, method])) if {
	object.get(match, ["method", "type"], "Exact") == "Exact"
	match.method.service != ""
	method := object.get(match, ["method", "method"], "")
} else := "*"

_path(type, _) := "/" if not type in {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"}

without_last_slash(path) := shorter if {
	shorter := trim_right(path, "/")
	shorter != ""
} else := "/"
