package bridge.v1

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.queries

# METADATA
# description: |
#   `extension_problems`: the results of extension modules of the hierarchy that have an invalid form and are therefore
#   ignored, `{module, message}`. With `objects` the links that they declare for these are checked too.
# entrypoint: true
extension_problems := queries.error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	input.objects
	not queries.is_list("objects")
} else := [{"module": pair[0], "message": pair[1]} | some pair in sort(index.extension_problems | _link_problems)]

_link_problems := {problem |
	some obj in object.get(input, "objects", [])
	some problem in index.extension_link_problems(obj)
	keys.of(obj)
}
