package bridge.lookup

import data.bridge.lib.keys

# METADATA
# description: The labels of a namespace, with the one that the API server always gives.
namespace_labels(name) := object.union(
	_written_labels(keys.format("", "Namespace", "", name)),
	{"kubernetes.io/metadata.name": name},
)

# A Namespace that is not there has its name all the same (semantics P2: manifests of one application alone).
_written_labels(namespace_key) := labels if {
	labels := get(namespace_key).metadata.labels
	is_object(labels)
} else := {}
