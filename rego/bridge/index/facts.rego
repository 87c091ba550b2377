package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The facts of a Gateway, ListenerSet or route: they depend on that object only, in the form that queries need. The
#   replicator stores them in `data.facts`; for objects in `changes` the query computes them.
facts(object_key) := stored if {
	stored := lookup.stored_facts(object_key)
	stored.by == stamp
} else := facts_of(lookup.get(object_key))

# METADATA
# description: |
#   The other input of facts besides the object: the levels from extension modules. Facts count while their `by` equals
#   it.
stamp := "" if {
	count(levels.extensions) == 0
} else := crypto.md5(json.marshal(levels.extensions))

# METADATA
# description: The facts of an object, computed from the object. Undefined for an object without listeners or rules.
facts_of(obj) := facts_at(levels.by_type[type].section, type, obj) if {
	type := keys.type(obj.apiVersion, obj.kind)
}
