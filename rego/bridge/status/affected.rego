package bridge.status

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.scopes

# The desired status of an object that policies affect, for each place of its type (GEP-713, "Target object status";
# semantics S4): `conditions` for status.conditions, `listeners` by name, `parents` as entries of a route's
# status.parents, `annotations` by name. `types` are the condition types and annotations that the bridge sets and
# removes, `controllers` the controller names of its entries in status.parents. `affecting` has by policy kind and place
# the policies that act there, `unreported` those whose full status omits the object, and `former` are former policy
# kinds, `{controllerName, kind}`.
affected_status(object_key, affecting, unreported, former) := object.union_n([
	{"object": object_key, "types": sort(our_types(former)), "controllers": sort(controllers(former))},
	{"conditions": _within_bound(object_key, ["status"], [report.condition | some report in reports; report.place == ""]) |
		form(type) == "conditions"
	},
	{"listeners": listeners | levels.by_type[type].section == "Listener"},
	{"parents": _parents(object_key, reports) | form(type) == "parents"},
	{"annotations": {report.condition.type: "true" | some report in reports; report.condition.reason == "Affected"} |
		form(type) == "annotations"
	},
]) if {
	type := keys.parse(object_key).type
	reports := array.concat(
		_reports_of_marks(object_key, affecting, "Affected", "Affected by"),
		_reports_of_marks(object_key, unreported, "AncestorsFull", "Omitted from a full status by"),
	)

	# Only its controller creates a listener's status; until it exists, nothing can be reported there.
	listeners := {listener.name: conditions |
		some index, listener in list_at(object_key, ["status", "listeners"])
		found := [report.condition | some report in reports; report.place == listener.name]
		conditions := _within_bound(object_key, ["status", "listeners", index], found)
	}
}

_reports_of_marks(object_key, by_kind, reason, text) := [report |
	some name in sort(object.keys(by_kind))
	kinds.sets.managed[name]
	kind := kinds.get(name)
	some place, policies in by_kind[name]
	count(policies) > 0
	report := {"place": place, "controllerName": kind.controllerName, "condition": with_generation(object_key, {
		"type": types_by_reason(kind)[reason],
		"status": "True",
		"reason": reason,
		"message": fit(sprintf("%s %s", [text, name_list(policies)])),
	})}
]

_parents(object_key, reports) := array.slice(entries, 0, max([0, _parent_bound - count(others)])) if {
	entries := [{"parentRef": json.unmarshal(place), "controllerName": controller, "conditions": conditions} |
		some [place, controller] in sort({[report.place, report.controllerName] | some report in reports})
		conditions := [report.condition | some report in reports; [report.place, report.controllerName] == [place, controller]]
	]
	ours := {entry.controllerName | some entry in entries}
	others := [entry | some entry in list_at(object_key, ["status", "parents"]); not object.get(entry, "controllerName", "") in ours]
}

# The maximum number of entries in status.parents of a route, of all controllers (Gateway API, RouteStatus).
_parent_bound := 32

# The policies that affect an object, by policy kind and place; the input of `affected_status`. It covers the effective
# targets in the object, and those at and below it if policies target it.
affecting_policies(object_key) := _by_kind_and_place({[name, mark[1], outcome.policy] |
	some name, _ in kinds.sets.managed
	some outcome in ({outcome |
		some node in ({object_key} | hierarchy.sections(object_key))
		scopes.acts_at(name, node)
		some outcome in outcomes.outcomes_at(name, node)
	} | {outcome |
		{true | some policy in _targeting(name, object_key); attachment.is_permitted(policy, object_key)} != set()
		some node in ({object_key} | {place | place := attachment.place(name, object_key)})
		some scope in scopes.scopes_at_or_below(name, node)
		some outcome in outcomes.outcomes_at(name, scope)
	})
	some mark in outcome.marks
	mark[0] == object_key
})

_by_kind_and_place(found) := {name: {place: object.keys(policies) | some place, policies in places} |
	some name, places in object.union_n([{name: {place: {policy: true}}} | some [name, place, policy] in found])
}

_targeting(policy_kind, object_key) := {policy |
	some policy in attachment.policies_targeting(object_key)
	keys.type_of(policy) == policy_kind
}

# The policies whose full status omits an object, by policy kind and place (semantics S3).
unreported_policies(object_key) := _by_kind_and_place({[name, place, policy] |
	some name, _ in kinds.sets.managed
	some [policy, place] in unreported_at(name, object_key)
})

# The policies of a kind whose full status omits an object, each with the place, as `[policy, place]`. It covers all policies
# that may have the object as an ancestor.
unreported_at(policy_kind, object_key) := {[policy, mark[1]] |
	kinds.get(policy_kind).statusShape == "Ancestors"
	some policy in ((_targeting(policy_kind, object_key) | {outcome.policy |
		not kinds.is_direct(policy_kind)
		some scope in scopes.scopes_at_or_below(policy_kind, object_key)
		some outcome in outcomes.outcomes_at(policy_kind, scope)
	}) | {policy |
		kinds.is_direct(policy_kind)
		some below in hierarchy.objects_below(object_key)
		some policy in _targeting(policy_kind, below)
	})
	not lookup.get(policy).metadata.deletionTimestamp
	some mark in unreported(policy, outcomes.tallies(policy))
	mark[0] == object_key
}

# The form in which objects of a type can report that they are affected (GEP-713, "Target object status"): "parents" for
# a route, "conditions" if the type has status.conditions, otherwise "annotations".
form(type) := "parents" if {
	levels.of_type(type) == "Route"
} else := "conditions" if {
	type in (_with_conditions | object.keys(_conditions_schemas))
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

_bound(type) := 8 if {
	startswith(type, concat("", [keys.gateway_api, "/"]))
} else := min({schema.maxItems | some schema in _conditions_schemas[type]}) if {
	true
} else := 1000000

# Conditions, limited by the list at a place of an object.
_within_bound(object_key, place, conditions) := array.slice(conditions, 0, max([0, _bound(keys.parse(object_key).type) - count(others)])) if {
	types := {condition.type | some condition in conditions}
	others := [shown |
		some shown in list_at(object_key, array.concat(place, ["conditions"]))
		not object.get(shown, "type", "") in types
	]
}

list_at(object_key, path) := found if {
	found := object.get(lookup.get(object_key), path, [])
	is_array(found)
} else := []
