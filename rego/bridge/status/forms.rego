package bridge.status

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   In what form objects of a type can show that they are affected (GEP-713, "Target object status"): "parents" for a route,
#   "conditions" where there is status.conditions, else "annotations".
form(type) := "parents" if {
	levels.of_type(type) == "Route"
} else := "conditions" if {
	type in _with_conditions
} else := "conditions" if {
	_conditions_schemas[type]
} else := "annotations"

# What has no CRD, and Gateway API's kinds, whose CRDs a folder of manifests need not hold.
_with_conditions := {
	"core/Service",
	"core/Namespace",
	"gateway.networking.k8s.io/Gateway",
	"gateway.networking.k8s.io/GatewayClass",
	"gateway.networking.k8s.io/ListenerSet",
}

# The schemas of status.conditions that CRDs have, by type.
_conditions_schemas[type] contains schema if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type := concat("/", [crd.spec.group, crd.spec.names.kind])
	some version in crd.spec.versions
	version.subresources.status
	schema := version.schema.openAPIV3Schema.properties.status.properties.conditions
}

# How many conditions an object of a type may have.
_bound(type) := 8 if {
	startswith(type, concat("", [keys.gateway_api, "/"]))
} else := min({schema.maxItems | some schema in _conditions_schemas[type]}) if {
	true
} else := 1000000

# METADATA
# description: Conditions as far as the list at a place of an object has room for them.
within_bound(object_key, place, conditions) := array.slice(conditions, 0, max([0, _bound(keys.parse(object_key).type) - others])) if {
	types := {condition.type | some condition in conditions}
	others := count([condition_shown |
		some condition_shown in list_at(object_key, array.concat(place, ["conditions"]))
		not object.get(condition_shown, "type", "") in types
	])
}

# METADATA
# description: A list in an object; empty where the object has no list there.
list_at(object_key, path) := found if {
	found := object.get(lookup.get(object_key), path, [])
	is_array(found)
} else := []
