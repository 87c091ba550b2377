package bridge.lookup

import data.bridge.lib.keys

# METADATA
# description: The labels of a namespace, including the one that the API server always adds.
namespace_labels(name) := object.union(
	_written_labels(keys.format("", "Namespace", "", name)),
	{"kubernetes.io/metadata.name": name},
)

# A missing Namespace still has its name (semantics P2: manifests of one application only).
_written_labels(namespace_key) := labels if {
	labels := get(namespace_key).metadata.labels
	is_object(labels)
} else := {}
