package bridge.index

import data.bridge.lookup

# METADATA
# description: |
#   The declarations of the objects that `changes` creates or replaces, by part of the index, first key, and the further
#   keys joined by newlines: a set. A complete rule, so OPA computes it once for a query.
changed_entries := _entries_of_changes

_entries_of_changes[path[0]][path[1]][concat("\n", array.slice(path, 2, 4))] contains value if {
	some declarer, obj in lookup.upserts
	some entry in entries(obj)
	path := entry.path
	some value in _values(path[0], declarer, entry.value)
}

_values(_, _, value) := value if is_array(value)

_values(_, declarer, value) := [declarer] if not is_array(value)
