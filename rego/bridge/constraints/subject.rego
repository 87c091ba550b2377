package bridge.constraints

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The fields of an object that a match reads: `{group, kind, namespace, name, labels, scope}`. As in Gatekeeper, a
#   Namespace counts as an object in itself, and other cluster-scoped objects are in no namespace.
subject(obj) := {
	"group": api_group(keys.group(obj.apiVersion)),
	"kind": obj.kind,
	"namespace": _namespace(obj),
	"name": _name(obj.metadata),
	"labels": _labels(obj.metadata),
	"scope": _scope(obj.metadata),
}

# METADATA
# description: The same for a stored object, by its key.
subject_of(key) := subject(lookup.get(key))

# METADATA
# description: The subject is a Namespace.
is_namespace(it) if {
	it.kind == "Namespace"
	it.group == ""
}

# METADATA
# description: A group in Kubernetes' form, empty for the core group.
api_group(group) := "" if group == "core"

api_group(group) := group if group != "core"

_namespace(obj) := obj.metadata.name if {
	obj.kind == "Namespace"
	obj.apiVersion == "v1"
} else := object.get(obj.metadata, "namespace", "")

# For an object without a name yet, the prefix of its name.
_name(metadata) := name if {
	name := metadata.name
	name != ""
} else := object.get(metadata, "generateName", "")

_labels(metadata) := metadata.labels if {
	is_object(metadata.labels)
} else := {}

_scope(metadata) := "Cluster" if {
	object.get(metadata, "namespace", "") == ""
} else := "Namespaced"
