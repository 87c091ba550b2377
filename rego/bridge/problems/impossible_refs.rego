package bridge.problems

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# What an object names as class, parent or backend by a name that no object can have, such as one with a slash. An API server
# accepts such names in some fields.
impossible_refs(key) := {{"subject": key, "about": key, "reason": reason, "value": place, "message": message} |
	some [place, reason] in _impossible(levels.of(key), lookup.get(key).spec, keys.parse(key).namespace)
	message := sprintf("spec.%s names an object that cannot exist: check its name", [place])
}

default _impossible(_, _, _) := set()

_impossible("Gateway", spec, _) := {["gatewayClassName", "ParentNotFound"] |
	spec.gatewayClassName != ""
	not keys.named(keys.gateway_api, "GatewayClass", "", spec.gatewayClassName)
}

_impossible("ListenerSet", spec, namespace) := {["parentRef", "ParentNotFound"] |
	is_object(spec.parentRef)
	not index.parent_key(spec.parentRef, namespace)
}

_impossible("Route", spec, namespace) := {[sprintf("parentRefs[%d]", [place]), "ParentNotFound"] |
	some place, ref in spec.parentRefs
	_is_named(ref)
	not index.parent_key(ref, namespace)
} | {[sprintf("rules[%d].%s", [position, place]), "BackendNotFound"] |
	some position, rule in spec.rules
	some place, ref in index.placed_backend_refs(rule)
	_is_named(ref)
	not index.backend_key(ref, namespace)
}

# A name that is missing or empty is a value that the schema excludes.
_is_named(ref) if object.get(ref, "name", "") != ""
