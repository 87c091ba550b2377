package bridge.v1

# METADATA
# description: |
#   `resource_versions`: the resourceVersion of every object in OPA (empty if it has none), by group, Kind, namespace
#   and name. The replicator compares it with its own writes. The rule avoids that OPA reads objects as a whole.
# entrypoint: true
resource_versions := {group: {kind: {namespace: {name: version |
	version := object.get(data.objects[group][kind][namespace][name].metadata, "resourceVersion", "")
} |
	data.objects[group][kind][namespace]
} |
	data.objects[group][kind]
} |
	data.objects[group]
}

# METADATA
# description: |
#   "`index_sizes`: the number of entries in each part of `data.index`, to compare with the bridge's own writes."
# entrypoint: true
index_sizes := {part: _entries(part) | data.index[part]}

# The depth of the parts: docs/reference/documents.md, `data.index`.
_entries(part) := count([1 | _ = data.index[part][_][_][_][_]]) if part in {"children", "parents"}

_entries("served") := count([1 | _ = data.index.served[_][_][_][_][_]])

_entries(part) := count([1 | _ = data.index[part][_][_][_][_]]) if part in {"claims", "selectors"}

_entries(part) := count([1 | _ = data.index[part][_][_][_]]) if part in {"attached", "own", "referrers"}

_entries(part) := count([1 | _ = data.index[part][_][_]]) if part in {"extended", "members", "limited", "oversized", "selecting", "targeted"}
