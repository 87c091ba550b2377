package bridge.request

import data.bridge.index
import data.bridge.lib.keys

# METADATA
# description: |
#   Warnings about the result at an entry point, `{reason, message}`: some data planes respond differently, or filters
#   of the listener may change the request before a route is selected.
warnings(entry) := array.flatten([_more_specific(entry), _filtered(entry), _by_implementation(entry)])

# Rules of the next hostname serve requests that the first does not match (HTTPRouteSpec.hostnames). Envoy's virtual
# hosts have no next one: they are made of the common hostnames of routes and listener, and the most specific one gets
# the request.
_more_specific(entry) := [warning |
	name := [name |
		some name in covering_hostnames(request.host)
		specificity(common_hostname(name, hostname(entry))) < specificity(common_hostname(_matched_hostname(entry), hostname(entry)))
		count(_attached_at(entry, name)) > 0
	][0]
	route_key := sort(_attached_at(entry, name))[0]
	warning := {
		"reason": "MoreSpecificHostname",
		"message": sprintf("%s %s has the more specific hostname %s, and none of its rules match: data planes based on Envoy return 404 here", [
			keys.parse(route_key).kind,
			keys.short(route_key),
			name,
		]),
	}
] if {
	not any_host(entry)
} else := []

_matched_hostname(entry) := [name |
	some name in covering_hostnames(request.host)
	specificity(name) == array.slice(first_match(entry)[0], 0, 2)
][0]

_attached_at(entry, name) := {route_key |
	some parent in entry_parents(entry)
	some path in index.some_served_paths(parent, name, "", paths_regarded)
	some route_key in index.routes_serving(parent, name, path)
	keys.type_of(route_key) in types(entry)
	is_attached(entry, route_key)
}

_filtered(entry) := [{
	"reason": "ListenerFilters",
	"message": sprintf("%s %s#%s has filters, which may change the request before a route is chosen", [parts.kind, keys.short(entry), parts.section]),
} |
	count(listener_filters(entry)) > 0
	parts := keys.parse(entry)
]

_by_implementation(entry) := [{
	"reason": "PatternBeforePrefix",
	"message": "Envoy Gateway puts regular expressions before prefixes: other implementations may choose another rule",
} |
	first_match(entry)[0][3] == pattern_before_prefix
]
