package bridge.constraints

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   What a match looks at in an object: `{group, kind, namespace, name, labels, scope}`. A Namespace counts as within itself,
#   any other cluster-scoped object as within no namespace, as Gatekeeper has it.
subject(obj) := {
	"group": api_group(keys.group(obj.apiVersion)),
	"kind": obj.kind,
	"namespace": _namespace(obj),
	"name": _name(obj.metadata),
	"labels": _labels(obj.metadata),
	"scope": _scope(obj.metadata),
}

# METADATA
# description: The same of an object that is held, by its key.
subject_of(key) := subject(lookup.get(key))

# METADATA
# description: The subject is a Namespace.
is_namespace(it) if {
	it.kind == "Namespace"
	it.group == ""
}

# METADATA
# description: A group as Kubernetes writes it, empty for the core one.
api_group(group) := "" if group == "core"

api_group(group) := group if group != "core"

_namespace(obj) := obj.metadata.name if {
	obj.kind == "Namespace"
	obj.apiVersion == "v1"
} else := object.get(obj.metadata, "namespace", "")

# One that the API server is yet to name has the beginning of its name.
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
