package bridge.status

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   What an object should show of the policies that affect it, in each place that its type has (GEP-713, "Target object
#   status"; semantics S4): `conditions` for status.conditions, `listeners` by name, `parents` as entries of a route's
#   status.parents, `annotations` by name. `types` are the condition types and annotations that are ours to set and to take
#   away, `controllers` the names under which entries of status.parents may be ours.
#   `acting` holds by policy kind and place the policies that act there, `unreported` those in whose status there is no room
#   for the object, and `former` are policy kinds, `{controllerName, kind}`, that were in force before.
affected(object_key, acting, unreported, former) := object.union_n([
	{"object": object_key, "types": sort(our_types(former)), "controllers": sort(controllers(former))},
	_conditions_part(form(type), object_key, told),
	_listeners_part(object_key, told),
	_parents_part(form(type), object_key, told),
	_annotations_part(form(type), told),
]) if {
	type := keys.parse(object_key).type
	told := array.concat(_affecting(object_key, acting), _leaving_out(object_key, unreported))
}

# What is to be said, each with its place and in whose name: `{place, controllerName, condition}`.
_affecting(object_key, acting) := [_told(object_key, place, kinds.get(name), {
	"type": affected_type(kinds.get(name)),
	"reason": "Affected",
	"message": fitted(sprintf("Affected by %s %s", [kinds.get(name).kind, named(policies)])),
}) |
	some name in sort(object.keys(acting))
	name in marking
	some place, policies in acting[name]
	count(policies) > 0
]

_leaving_out(object_key, unreported) := [_told(object_key, place, kind, {
	"type": not_reported_type(kind),
	"reason": "AncestorsFull",
	"message": fitted(sprintf("Left out of its status, which is full, by %s %s", [kind.kind, named(policies)])),
}) |
	some name in sort(object.keys(unreported))
	kind := kinds.get(name)
	kind.mode == "Manage"
	some place, policies in unreported[name]
	count(policies) > 0
]

_told(object_key, place, kind, condition) := {
	"place": place,
	"controllerName": kind.controllerName,
	"condition": observed(object_key, object.union(condition, {"status": "True"})),
}

_at(told, place) := [each.condition | some each in told; each.place == place]

_conditions_part("conditions", object_key, told) := {"conditions": within_bound(object_key, ["status"], _at(told, ""))}

_conditions_part(form, _, _) := {} if form != "conditions"

# A listener's status is its controller's to begin; until it is there, nothing can be said in it.
_listeners_part(object_key, told) := {"listeners": {listener.name: conditions |
	some index, listener in list_at(object_key, ["status", "listeners"])
	conditions := within_bound(object_key, ["status", "listeners", index], _at(told, listener.name))
}} if {
	levels.by_type[keys.parse(object_key).type].section == "Listener"
} else := {}

_parents_part("parents", object_key, told) := {"parents": array.slice(entries, 0, max([0, parent_bound - others]))} if {
	entries := [{"parentRef": json.unmarshal(place), "controllerName": controller, "conditions": conditions} |
		some [place, controller] in sort({[each.place, each.controllerName] | some each in told})
		conditions := [each.condition | some each in told; [each.place, each.controllerName] == [place, controller]]
	]
	ours := {entry.controllerName | some entry in entries}
	others := count([entry |
		some entry in list_at(object_key, ["status", "parents"])
		not object.get(entry, "controllerName", "") in ours
	])
}

_parents_part(form, _, _) := {} if form != "parents"

# METADATA
# description: How many entries status.parents of a route holds, of all controllers (Gateway API, RouteStatus).
parent_bound := 32

_annotations_part("annotations", told) := {"annotations": {each.condition.type: "true" |
	some each in told
	each.condition.reason == "Affected"
}}

_annotations_part(form, _) := {} if form != "annotations"
