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
} else := [
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
	"/spec/parentRef",
	"/spec/parentRefs",
	"/spec/rules/*/backendRefs/*/filters/*/externalAuth/backendRef",
	"/spec/rules/*/backendRefs/*/filters/*/requestMirror/backendRef",
	"/spec/rules/*/backendRefs/*/filters/*/type",
	"/spec/rules/*/backendRefs/*/group",
	"/spec/rules/*/backendRefs/*/kind",
	"/spec/rules/*/backendRefs/*/name",
	"/spec/rules/*/backendRefs/*/namespace",
	"/spec/rules/*/filters/*/externalAuth/backendRef",
	"/spec/rules/*/filters/*/requestMirror/backendRef",
	"/spec/rules/*/filters/*/type",
	"/spec/rules/*/matches/*/method",
	"/spec/rules/*/matches/*/path",
	"/spec/rules/*/name",
	"/spec/useDefaultGateways",
	{"with": "/spec/targetRef"},
	{"with": "/spec/targetRefs"},
	{"with": "/spec/targetSelectors"},
]
