# METADATA
# title: Lookup
# description: |
#   The only way by which rules read replicated objects: as they are, or as they would be after `input.changes`
#   (`upsert`: objects, `delete`: keys). Its cost is that of the changes, not of the cluster.
package bridge.lookup

import data.bridge.lib.keys

# METADATA
# description: An object by its key; undefined where there is none.
get(key) := data.objects[group][kind][namespace][name] if {
	unchanged
	[group, kind, namespace, name] := split(key, "/")
} else := data.objects[group][kind][namespace][name] if {
	not unchanged
	not key in touched
	[group, kind, namespace, name] := split(key, "/")
} else := upserts[key]

# METADATA
# description: What the replicator stored of an object that the query does not change; see `bridge.hierarchy.facts`.
stored(key) := data.facts[group][kind][namespace][name] if {
	unchanged
	[group, kind, namespace, name] := split(key, "/")
} else := data.facts[group][kind][namespace][name] if {
	not unchanged
	not key in touched
	[group, kind, namespace, name] := split(key, "/")
}

# METADATA
# description: There is an object. Reads one field of it, because OPA makes a term of all that is read.
holds(key) if {
	unchanged
	[group, kind, namespace, name] := split(key, "/")
	data.objects[group][kind][namespace][name].kind
} else if {
	get(key)
}

# METADATA
# description: The query changes nothing. A complete rule, so that OPA makes it once a query.
unchanged if not input.changes

unchanged if count(touched) == 0

# METADATA
# description: All objects of one type in one namespace (`-` for cluster-scoped ones), by name.
objects_in(type, namespace) := object.union(stored, changed) if {
	[group, kind] := split(type, "/")
	stored := {name: obj |
		some name, obj in data.objects[group][kind][namespace]
		not concat("/", [type, namespace, name]) in touched
	}
	changed := {parts.name: obj |
		some key, obj in upserts
		parts := keys.parse(key)
		parts.type == type
		parts.namespace == namespace
	}
}

# METADATA
# description: The namespaces in which objects of a type exist.
namespaces_of(type) := {namespace | some namespace, _ in data.objects[group][kind]} | {namespace |
	some key, _ in upserts
	keys.parse(key).type == type
	namespace := keys.parse(key).namespace
} if {
	[group, kind] := split(type, "/")
}

# METADATA
# description: The objects that `input.changes` creates or replaces, by key.
upserts := {key: obj |
	some obj in input.changes.upsert
	key := keys.of(obj)
	not key in twice
}

# METADATA
# description: Keys of more than one object in `input.changes.upsert`, which is an error.
twice := {key |
	ordered := sort([keys.of(obj) | some obj in input.changes.upsert])
	some index, key in ordered
	key == ordered[index + 1]
}

# METADATA
# description: The keys of all objects that `input.changes` creates, replaces or deletes.
touched := {key | some key, _ in upserts} | {key | some key in input.changes.delete}

# METADATA
# description: Every type (`<group>/<Kind>`) of which there may be an object.
types := {concat("/", [group, kind]) | data.objects[group][kind]} | {keys.parse(key).type | some key, _ in upserts}

# METADATA
# description: The keys of all objects of a type. Looks into none of them.
keys_of(type) := {key |
	data.objects[group][kind][namespace][name]
	key := concat("/", [type, namespace, name])
	not key in touched
} | {key | some key, _ in upserts; keys.parse(key).type == type} if {
	[group, kind] := split(type, "/")
}
