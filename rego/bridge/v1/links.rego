package bridge.v1

import data.bridge.hierarchy
import data.bridge.lib.keys

# METADATA
# description: |
#   `links`: what the replicator stores in the index for each of `objects`, by key, a list of `{path, value}`.
# entrypoint: true
links := _error("InvalidInput", "objects must be a list of objects with apiVersion, kind and metadata.name") if {
	not _is_list("objects")
} else := {key: entries |
	some obj in input.objects
	key := keys.of(obj)
	entries := hierarchy.links(obj)
	count(entries) > 0
}
