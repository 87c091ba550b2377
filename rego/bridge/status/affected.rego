package bridge.status

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

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
