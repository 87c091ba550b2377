package bridge.index

import data.bridge.lib.levels

# METADATA
# description: |
#   The fields that `links` reads, as JSON Pointers (`*`: each item of a list). An object that has one of the fields
#   `with` is read as a whole, except its status and the rest of its metadata, because policies are measured (semantics
#   T6). A change of other fields changes no links, and clients may omit these fields. Null while extension modules
#   declare links or levels, because the fields that they read are unknown.
link_fields := null if {
	count(link_modules) > 0
} else := null if {
	count(levels.extensions) > 0
} else := array.flatten([
	_fields_read, [concat("/", [place, field]) |
		some place in ["/spec/parentRef", "/spec/rules/*/backendRefs/*"]
		some field in ["group", "kind", "name", "namespace"]
	],
	[concat("/", [place, "filters/*", field]) |
		some place in ["/spec/rules/*", "/spec/rules/*/backendRefs/*"]
		some field in array.concat(["type"], [concat("/", [holder, "backendRef", part]) |
			some holder in backend_filters
			some part in ["group", "kind", "name", "namespace"]
		])
	],
	[{"with": sprintf("/spec/%s", [field])} | some field in sort(target_fields)],
])

_fields_read := [
	"/apiVersion",
	"/kind",
	"/metadata/name",
	"/metadata/namespace",
	"/metadata/creationTimestamp",
	"/metadata/deletionTimestamp",
	"/spec/defaultScope",
	"/spec/gatewayClassName",
	"/spec/hostnames",
	"/spec/listeners",
	"/spec/parentRefs",
	"/spec/rules/*/matches/*/method",
	"/spec/rules/*/matches/*/path",
	"/spec/rules/*/name",
	"/spec/useDefaultGateways",
]
