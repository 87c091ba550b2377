package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The facts of a Gateway, ListenerSet or route: what follows from that object alone, in the form that queries need. The
#   replicator stores them in `data.facts`; for objects that `changes` touch they are made in the query.
facts(object_key) := stored if {
	stored := lookup.stored_facts(object_key)
	stored.by == stamp
} else := facts_of(lookup.get(object_key))

# METADATA
# description: |
#   What the facts of objects depend on besides the object, the levels that extension modules give; facts count while their
#   `by` equals it.
stamp := "" if {
	count(levels.extensions) == 0
} else := crypto.md5(json.marshal(levels.extensions))

# METADATA
# description: The facts of an object, made from the object. Undefined for an object without listeners or rules.
facts_of(obj) := facts_at(levels.by_type[type].section, type, obj) if {
	type := keys.type(obj.apiVersion, obj.kind)
}
