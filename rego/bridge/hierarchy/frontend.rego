package bridge.hierarchy

import data.bridge.lib.keys

# METADATA
# description: |
#   Why the object that a parentRef names is not a frontend of a route, as a reason of the route's Accepted condition
#   (Gateway API, ParentReference); empty if it is one. A port or sectionName of a Service must be one of its ports; for
#   other kinds their meaning is unknown.
frontend_rejection(object_key, section_name, port) := "ParentNotFound" if {
	not exists(object_key)
} else := "NoMatchingParent" if {
	keys.parse(object_key).type == "core/Service"
	not _names_a_port(object_key, section_name, port)
} else := ""

_names_a_port(_, "", 0)

# Inside a comprehension, because OPA 1.22 indexes `argument in {0, variable}` in a function's body as if it were always
# false.
_names_a_port(service_key, section_name, port) if {
	matching := {index |
		some index, entry in ports(service_key)
		section_name in {"", port_names(service_key)[index]}
		port in {0, entry.port}
	}
	count(matching) > 0
}
