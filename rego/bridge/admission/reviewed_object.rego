package bridge.admission

import data.bridge.lib.keys

# METADATA
# description: |
#   The object that a request writes, with the name and namespace that it will have; undefined where it deletes one, writes a
#   subresource, or leaves the spec as it is, for then nothing is decided anew.
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

# The API server makes a name from generateName after it has asked.
_name := {"name": concat("", [input.object.metadata.generateName, "?"])} if {
	not input.object.metadata.name
} else := {}

_namespace := {"namespace": input.namespace} if {
	input.namespace != ""
} else := {}
