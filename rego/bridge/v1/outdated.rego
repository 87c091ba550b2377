package bridge.v1

import data.bridge.admission
import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.queries
import data.bridge.topology
import data.bridge.views

# METADATA
# description: |
#   What a change of the objects `keys`, which had the index paths `was`, makes outdated: the parts that are `wanted`, by name
#   with the input of each. `scopes`, `objects` and `policies` are those of `dependents`; `remediation` are, for a small change,
#   the `outcomes` at its scopes and at `targets`, and the `reports` that follow from them. `picture` are the objects whose `picture` the
#   change may affect, where `drawn` are those of `keys` that were drawn before. `guarded` are the objects that guardrails
#   must judge again, `answers` those whose `answers` may change: `objects`, and those `above` where only the targets may.
#   `marks` are, by changed key, those by which `view_keys` tells whether a change concerns a view, where `now` are the
#   present index paths by key.
# entrypoint: true
outdated := problem if {
	problem := queries.emptied
} else := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := {name: found | some name, wanted in input.wanted; found := _outdated(name, wanted)}

_outdated("scopes", _) := queries.dependents.scopes
_outdated("objects", _) := queries.dependents.objects
_outdated("policies", _) := queries.dependents.policies
_outdated("remediation", _) := queries.remediation
_outdated("guarded", _) := sort(admission.concerned_objects)

_outdated("marks", wanted) := {key: sort(views.marks_of_change(key, paths)) |
	some key in input.keys
	paths := array.concat(object.get(input, ["was", key], []), object.get(wanted, ["now", key], []))
}

_outdated("picture", wanted) := sort(topology.changed_entries(changed, object.get(input, "was", {}), appeared)) if {
	changed := {key | some key in input.keys}
	appeared := changed - {key | some key in object.get(wanted, "drawn", []); lookup.get(key)}
}

_outdated("answers", _) := {"objects": sort(objects), "above": sort(above - objects)} if {
	former := {keys.object_of(path[1]) | some key in input.keys; some path in input.was[key]; path[0] in {"parents", "children"}}
	changed := queries.dependent_objects | former
	acting := {keys.object_of(scope) | some scopes in queries.dependents.scopes; some scope in scopes}
	routes := {key | some scope in acting; some key in hierarchy.objects_below(scope); levels.of(key) == "Route"}
	above := {keys.object_of(key) | some one in (changed | acting); some key in hierarchy.objects_above(one)} | {namespace |
		some one in changed # an object that was deleted is below no Namespace
		namespace := concat("/", ["core/Namespace/-", keys.parse(one).namespace])
	}

	# Objects above may change too: routes have problems of backends, and Gateways the listeners of ListenerSets.
	concerned := {key | some key in above; levels.of(key) == "Route"} | {key |
		some one in changed
		levels.of(one) in {"Gateway", "ListenerSet", "Namespace"}
		some key in above
		levels.of(key) in {"Gateway", "ListenerSet"}
	}
	objects := union({changed, acting, routes, concerned, {keys.object_of(key) | some one in changed; some key in hierarchy.objects_below(one)}})
}
