package bridge.status

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The form in which objects of a type can report that they are affected (GEP-713, "Target object status"): "parents"
#   for a route, "conditions" if the type has status.conditions, otherwise "annotations".
form(type) := "parents" if {
	levels.of_type(type) == "Route"
} else := "conditions" if {
	type in _with_conditions
} else := "conditions" if {
	_conditions_schemas[type]
} else := "annotations"

# Types without a CRD, and Gateway API's kinds, whose CRDs a folder of manifests may lack.
_with_conditions := {
	"core/Service",
	"core/Namespace",
	"gateway.networking.k8s.io/Gateway",
	"gateway.networking.k8s.io/GatewayClass",
	"gateway.networking.k8s.io/ListenerSet",
}

# The schemas of status.conditions in CRDs, by type.
_conditions_schemas[type] contains schema if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type := concat("/", [crd.spec.group, crd.spec.names.kind])
	some version in crd.spec.versions
	version.subresources.status
	schema := version.schema.openAPIV3Schema.properties.status.properties.conditions
}

# The maximum number of conditions of an object of a type.
_bound(type) := 8 if {
	startswith(type, concat("", [keys.gateway_api, "/"]))
} else := min({schema.maxItems | some schema in _conditions_schemas[type]}) if {
	true
} else := 1000000

# METADATA
# description: Conditions, limited by the list at a place of an object.
within_bound(object_key, place, conditions) := array.slice(conditions, 0, max([0, _bound(keys.parse(object_key).type) - others])) if {
	types := {condition.type | some condition in conditions}
	others := count([condition_shown |
		some condition_shown in list_at(object_key, array.concat(place, ["conditions"]))
		not object.get(condition_shown, "type", "") in types
	])
}

# METADATA
# description: A list in an object; empty if the object has no list there.
list_at(object_key, path) := found if {
	found := object.get(lookup.get(object_key), path, [])
	is_array(found)
} else := []
