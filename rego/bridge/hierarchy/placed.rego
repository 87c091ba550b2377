package bridge.hierarchy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lookup

# Policy kinds place objects of other types below one another (`hierarchy` of a kind; semantics P11), as Open Cluster
# Management's ManagedClusters below ManagedClusterSets. A link depends on both objects, so it is computed from the
# objects, if the index has an object with children. The parent of an object is in its own namespace; both may be in none.

# The objects that a kind places directly above an object. A parent with a certain value selects what is below it, any
# other parent is named by it.
placed_above(key) := {parent |
	some entry in kinds.sets.placed[keys.type_of(key)]
	some parent in (_named_parent(entry, key) | _selecting_parents(entry, key))
}

_named_parent(entry, key) := {parent |
	[group, kind] := split(entry.parent, "/")
	parent := keys.named(keys.api_group(group), kind, _own_namespace(key), object.get(lookup.get(key), entry.name, null))
	obj := lookup.get(parent)
	not _selects_children(entry, obj)
}

_own_namespace(key) := object.get(lookup.get(key).metadata, "namespace", "")

_selecting_parents(entry, key) := {parent |
	entry.selector
	labels_of_child := object.get(lookup.get(key).metadata, "labels", {})
	some name, obj in lookup.objects_in(entry.parent, keys.parse(key).namespace)
	_selects_children(entry, obj)
	labels.selects(index.label_selector(object.get(obj, entry.selector.segments, null)), labels_of_child)
	parent := concat("/", [entry.parent, keys.parse(key).namespace, name])
}

_selects_children(entry, obj) if object.get(obj, entry.selector.where.segments, null) == entry.selector.where.value

# The objects that a kind places directly below an object.
placed_below(key) := {child |
	home := keys.parse(key).namespace
	some type, _ in kinds.sets.placing[keys.type_of(key)]
	some name, _ in lookup.objects_in(type, home)
	child := concat("/", [type, home, name])
	placed_above(child)[key]
}
