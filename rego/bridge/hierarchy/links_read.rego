package bridge.hierarchy

# METADATA
# description: |
#   The fields that `links` reads, as JSON Pointers (`*`: each item of a list). A change of other fields changes no links,
#   and whoever asks for an object's links may leave them out. Null while extension modules make links or place kinds: nobody
#   knows what theirs read, nor when they change.
links_read := null if {
	count(_link_modules) > 0
} else := null if {
	count(extension_levels) > 0
} else := array.concat(_fields_read, [concat("/", [place, field]) |
	some place in ["/spec/parentRef", "/spec/parentRefs/*", "/spec/rules/*/backendRefs/*"]
	some field in ["group", "kind", "name", "namespace"]
])

_fields_read := [
	"/apiVersion",
	"/kind",
	"/metadata/name",
	"/metadata/namespace",
	"/spec/gatewayClassName",
	"/spec/hostnames",
	"/spec/rules/*/matches/*/method",
	"/spec/rules/*/matches/*/path",
	"/spec/targetRef",
	"/spec/targetRefs",
	"/spec/targetSelectors",
]
