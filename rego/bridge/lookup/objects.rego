# METADATA
# title: Lookup
# description: |
#   The only rules that read replicated objects: as they are, or as they would be after `input.changes` (`upsert`:
#   objects, `delete`: keys; a Namespace or a CRD takes its objects along). The cost is that of the changes, not of the
#   cluster.
package bridge.lookup

import data.bridge.lib.keys

get(key) := data.objects[group][kind][namespace][name] if {
	[group, kind, namespace, name] := _stored_at(key)
} else := upserts[key]

# The stored facts of an object that the query does not change; see `bridge.hierarchy.facts`.
stored_facts(key) := data.facts[group][kind][namespace][name] if [group, kind, namespace, name] := _stored_at(key)

# One field of `stored_facts`. Reads nothing else, because OPA makes a term of everything that is read.
stored_fact(key, field) := data.facts[group][kind][namespace][name][field] if [group, kind, namespace, name] := _stored_at(key)

api_version(key) := data.objects[group][kind][namespace][name].apiVersion if {
	[group, kind, namespace, name] := _stored_at(key)
} else := upserts[key].apiVersion

# An object exists. Reads one field of it, because OPA makes a term of everything that is read.
has_object(key) if {
	[group, kind, namespace, name] := _stored_at(key)
	data.objects[group][kind][namespace][name].kind
} else if {
	get(key)
}

# An object that may exist, and that the user of a command may not read. `data.unread` has the namespaces that they may
# read, by type.
may_be_unread(key) if {
	parts := keys.parse(key)
	readable := data.unread[parts.type]
	not parts.namespace in readable
}

# The types of which the user may not read every object.
partly_read contains type if some type, _ in data.unread

reads_in_part if data.unread[_]

# This OPA has a part of everything (see `bridge.fleet`).
has_view if data.bridge_below.partial

# Whether answers about a node are those of an OPA that has everything: this one does, or the node's object or frontend is
# at or below the roots of its view. Of other objects a view has parts, such as a Gateway without its routes.
is_in_view(node) if {
	not has_view
} else if {
	data.bridge_below.keys[keys.whole(node)]
} else if {
	upserts[keys.whole(node)]
	[group, kind, namespace, name] := split(keys.whole(node), "/")
	not data.objects[group][kind][namespace][name].kind
}

# The path in `data.objects` and `data.facts` of an object that the query does not change.
_stored_at(key) := split(key, "/") if {
	has_no_changes
} else := split(key, "/") if {
	not key in changed_keys
}

# The query changes nothing. A complete rule, so OPA computes it once for a query. Lookups that check it first save a
# tenth of the expressions of `effective`.
has_no_changes if {
	not input.changes
} else if {
	count(upserts) == 0
	count(deleted_keys) == 0
}

# All objects of one type in one namespace (`-` for cluster-scoped ones), by name.
objects_in(type, namespace) := {name: obj | some name, obj in data.objects[group][kind][namespace]} if {
	has_no_changes
	[group, kind] := split(type, "/")
} else := object.union(replicated, changed) if {
	[group, kind] := split(type, "/")
	replicated := {name: obj |
		some name, obj in data.objects[group][kind][namespace]
		not concat("/", [type, namespace, name]) in changed_keys
	}
	changed := {parts.name: obj |
		some key, obj in upserts
		parts := keys.parse(key)
		parts.type == type
		parts.namespace == namespace
	}
}

namespaces_of(type) := {namespace | some namespace, _ in data.objects[group][kind]} | {namespace |
	some key, _ in upserts
	keys.parse(key).type == type
	namespace := keys.parse(key).namespace
} if [group, kind] := split(type, "/")

# The names of all namespaces that exist or have an object.
namespaces := ({namespace |
	some type in types
	some namespace in namespaces_of(type)
	_has_objects_in(type, namespace)
} | {keys.parse(key).name | some key in keys_of("core/Namespace")}) - {"-"}

_has_objects_in(_, _) if has_no_changes

_has_objects_in(type, namespace) if {
	[group, kind] := split(type, "/")
	data.objects[group][kind][namespace][name]
	not concat("/", [type, namespace, name]) in changed_keys
}

_has_objects_in(type, namespace) if {
	some key, _ in upserts
	startswith(key, concat("/", [type, namespace, ""]))
}

# The objects that `input.changes` creates or replaces, by key.
upserts := {key: obj |
	some obj in input.changes.upsert
	key := keys.of(obj)
	not key in duplicate_keys
}

# Keys of more than one object in `input.changes.upsert`, which is an error.
duplicate_keys := {key |
	ordered := sort([keys.of(obj) | some obj in input.changes.upsert])
	some index, key in ordered
	key == ordered[index + 1]
}

# The keys of all objects that `input.changes` creates, replaces or deletes.
changed_keys := set() if {
	has_no_changes
} else := {key | some key, _ in upserts} | deleted_keys

# The keys of all objects that `input.changes` deletes: those that it names, and those that these take along.
deleted_keys := union({deleted | some key in input.changes.delete; deleted := {key} | taken_along(key)})

# The keys of the stored objects that the API server deletes together with an object: those in a Namespace, and those of
# the kind that a CRD defines, the oldest of those that claim it. An object that the query creates or replaces stays.
taken_along(key) := {concat("/", [group, kind, namespace, name]) |
	namespace := split(key, "/")[3]
	some group, kind
	data.objects[group][kind][namespace][name]
	not upserts[concat("/", [group, kind, namespace, name])]
} if {
	startswith(key, "core/Namespace/")
	not upserts[key]
} else := {concat("/", [group, kind, namespace, name]) |
	crds := data.objects["apiextensions.k8s.io"].CustomResourceDefinition["-"]
	crd := crds[split(key, "/")[3]]
	group := keys.group_name(crd.spec.group)
	kind := crd.spec.names.kind
	rivals := {[age_of(other), name] | some name; other := crds[name]; other.spec.names.kind == kind; other.spec.group == crd.spec.group}
	min(rivals)[1] == split(key, "/")[3]
	data.objects[group][kind][namespace][name]
	not upserts[concat("/", [group, kind, namespace, name])]
} if {
	startswith(key, "apiextensions.k8s.io/CustomResourceDefinition/")
	not upserts[key]
} else := set()

# Every type (`<group>/<Kind>`) that may have objects.
types := {concat("/", [group, kind]) | data.objects[group][kind]} if {
	has_no_changes
} else := ({concat("/", [group, kind]) | data.objects[group][kind]} - _emptied_types) | {keys.parse(key).type | some key, _ in upserts}

# The types of which the query deletes all objects.
_emptied_types := {type |
	some type in {keys.type_of(key) | some key in deleted_keys}
	not _has_others(type)
}

_has_others(type) if {
	[group, kind] := split(type, "/")
	data.objects[group][kind][namespace][name]
	not concat("/", [type, namespace, name]) in changed_keys
}

# The keys of all objects of a type, without reading the objects.
keys_of(type) := {key |
	data.objects[group][kind][namespace][name]
	key := concat("/", [type, namespace, name])
	not key in changed_keys
} | {key | some key, _ in upserts; keys.parse(key).type == type} if [group, kind] := split(type, "/")

# The creation time of an object in nanoseconds since 1970. An object without a valid creationTimestamp, as in
# manifests, is younger than all objects that have one.
age(key) := age_of(get(key))

age_of(obj) := time.parse_rfc3339_ns(obj.metadata.creationTimestamp) if {
	true
} else := 9223372036854775807

# The labels of a namespace, including the one that the API server always adds. A missing Namespace still has its name
# (semantics P2: manifests of one application only).
namespace_labels(name) := object.union(
	{label: value | some label, value in get(keys.format("", "Namespace", "", name)).metadata.labels},
	{"kubernetes.io/metadata.name": name},
)
