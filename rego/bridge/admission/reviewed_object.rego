package bridge.admission

import data.bridge.lib.keys

# METADATA
# description: |
#   The object that a request writes, with its future name and namespace. Undefined if the request deletes an object,
#   writes a subresource, or leaves the spec unchanged, because then no decision changes.
reviewed_object := named if {
	input.operation in {"CREATE", "UPDATE"}
	object.get(input, "subResource", "") == ""
	is_object(input.object.metadata)
	not _spec_stays
	not input.object.metadata.deletionTimestamp
	named := object.union(input.object, {"metadata": object.union_n([_name, _namespace, input.object.metadata])})
	keys.of(named)
}

_spec_stays if {
	input.operation == "UPDATE"
	object.get(input.object, "spec", null) == object.get(input.oldObject, "spec", null)
}

# The API server generates a name from generateName after admission.
_name := {"name": concat("", [input.object.metadata.generateName, "?"])} if {
	not input.object.metadata.name
} else := {}

_namespace := {"namespace": input.namespace} if {
	input.namespace != ""
} else := {}
