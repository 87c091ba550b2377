package bridge.status

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.scopes

# METADATA
# description: |
#   The desired status of an object that policies affect, for each place of its type (GEP-713, "Target object status";
#   semantics S4): `conditions` for status.conditions, `listeners` by name, `parents` as entries of a route's
#   status.parents, `annotations` by name. `types` are the condition types and annotations that the bridge sets and
#   removes, `controllers` the controller names of its entries in status.parents. `affecting` has by policy kind and
#   place the policies that act there, `unreported` those whose full status omits the object, and `former` are former
#   policy kinds, `{controllerName, kind}`.
affected_status(object_key, affecting, unreported, former) := object.union_n([
	{"object": object_key, "types": sort(our_types(former)), "controllers": sort(controllers(former))},
	_conditions_part(form(type), object_key, reports),
	_listeners_part(object_key, reports),
	_parents_part(form(type), object_key, reports),
	_annotations_part(form(type), reports),
]) if {
	type := keys.parse(object_key).type
	reports := array.concat(_affected_reports(object_key, affecting), _not_reported_reports(object_key, unreported))
}

# The reports, each with its place and controller name: `{place, controllerName, condition}`.
_affected_reports(object_key, affecting) := [_report(object_key, place, kinds.get(name), {
	"type": affected_type(kinds.get(name)),
	"reason": "Affected",
	"message": fit(sprintf("Affected by %s %s", [kinds.get(name).kind, name_list(policies)])),
}) |
	some name in sort(object.keys(affecting))
	kinds.sets.managed[name]
	some place, policies in affecting[name]
	count(policies) > 0
]

_not_reported_reports(object_key, unreported) := [_report(object_key, place, kind, {
	"type": not_reported_type(kind),
	"reason": "AncestorsFull",
	"message": fit(sprintf("Omitted from a full status by %s %s", [kind.kind, name_list(policies)])),
}) |
	some name in sort(object.keys(unreported))
	kind := kinds.get(name)
	kind.mode == "Manage"
	some place, policies in unreported[name]
	count(policies) > 0
]

_report(object_key, place, kind, condition) := {
	"place": place,
	"controllerName": kind.controllerName,
	"condition": with_generation(object_key, object.union(condition, {"status": "True"})),
}

_conditions_at(reports, place) := [report.condition | some report in reports; report.place == place]

_conditions_part("conditions", object_key, reports) := {"conditions": within_bound(object_key, ["status"], _conditions_at(reports, ""))}

_conditions_part(form, _, _) := {} if form != "conditions"

# Only its controller creates a listener's status; until it exists, nothing can be reported there.
_listeners_part(object_key, reports) := {"listeners": {listener.name: conditions |
	some index, listener in list_at(object_key, ["status", "listeners"])
	conditions := within_bound(object_key, ["status", "listeners", index], _conditions_at(reports, listener.name))
}} if {
	levels.by_type[keys.parse(object_key).type].section == "Listener"
} else := {}

_parents_part("parents", object_key, reports) := {"parents": array.slice(entries, 0, max([0, parent_bound - others]))} if {
	entries := [{"parentRef": json.unmarshal(place), "controllerName": controller, "conditions": conditions} |
		some [place, controller] in sort({[report.place, report.controllerName] | some report in reports})
		conditions := [report.condition | some report in reports; [report.place, report.controllerName] == [place, controller]]
	]
	ours := {entry.controllerName | some entry in entries}
	others := count([entry |
		some entry in list_at(object_key, ["status", "parents"])
		not object.get(entry, "controllerName", "") in ours
	])
}

_parents_part(form, _, _) := {} if form != "parents"

# METADATA
# description: |
#   The maximum number of entries in status.parents of a route, of all controllers (Gateway API, RouteStatus).
parent_bound := 32

_annotations_part("annotations", reports) := {"annotations": {report.condition.type: "true" |
	some report in reports
	report.condition.reason == "Affected"
}}

_annotations_part(form, _) := {} if form != "annotations"

# METADATA
# description: |
#   The policies that affect an object, by policy kind and place; the input of `affected_status`. It covers the
#   effective targets in the object, and those at and below it if policies target it.
affecting_policies(object_key) := {name: places |
	some name, _ in kinds.sets.managed
	marks := {[mark[1], outcome.policy] |
		some outcome in (_outcomes_in(name, object_key) | _outcomes_of_targeting(name, object_key))
		some mark in outcome.marks
		mark[0] == object_key
	}
	count(marks) > 0
	places := {place: policies |
		some [place, _] in marks
		policies := {policy | some [other, policy] in marks; other == place}
	}
}

_outcomes_in(policy_kind, object_key) := {outcome |
	some node in ({object_key} | hierarchy.sections(object_key))
	scopes.acts_at(policy_kind, node)
	some outcome in outcomes.outcomes_at(policy_kind, node)
}

_outcomes_of_targeting(policy_kind, object_key) := {outcome |
	targeting := {policy | some policy in _targeting(policy_kind, object_key); attachment.is_permitted(policy, object_key)}
	count(targeting) > 0
	some node in ({object_key} | {place | place := attachment.place(policy_kind, object_key)})
	some scope in scopes.scopes_at_or_below(policy_kind, node)
	some outcome in outcomes.outcomes_at(policy_kind, scope)
	outcome.policy in targeting
}

_targeting(policy_kind, object_key) := {policy |
	some policy in attachment.policies_targeting(object_key)
	keys.parse(policy).type == policy_kind
}

# METADATA
# description: |
#   The policies whose full status omits an object, by policy kind and place (semantics S3). It covers all policies that
#   may have the object as an ancestor.
unreported_policies(object_key) := {name: places |
	some name, _ in kinds.sets.managed
	kinds.get(name).statusShape == "Ancestors"
	marks := {[mark[1], policy] |
		some policy in _below_or_at(name, object_key)
		not lookup.get(policy).metadata.deletionTimestamp
		some mark in ancestors(policy, outcomes.tallies(policy)).unreported
		mark[0] == object_key
	}
	count(marks) > 0
	places := {place: policies |
		some [place, _] in marks
		policies := {policy | some [other, policy] in marks; other == place}
	}
}

_below_or_at(policy_kind, object_key) := ({policy |
	not kinds.is_direct(policy_kind)
	some scope in scopes.scopes_at_or_below(policy_kind, object_key)
	some outcome in outcomes.outcomes_at(policy_kind, scope)
	policy := outcome.policy
} | {policy |
	kinds.is_direct(policy_kind)
	some below in hierarchy.objects_below(object_key)
	some policy in _targeting(policy_kind, below)
}) | _targeting(policy_kind, object_key)

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
