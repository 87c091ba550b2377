# METADATA
# title: Policy kinds
# description: |
#   A policy kind is described by data (design, "Policy kinds"): shipped presets, then PolicyKind resources, merged
#   field by field, later over earlier (semantics K1).
package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lookup

policykind_type := "policybridge.io/PolicyKind"

# METADATA
# description: |
#   A policy kind in force by its `<group>/<Kind>`, with all defaults. `data.kinds` is what the replicator stored of
#   `in_force`; a query that changes a PolicyKind asks the rule itself.
get(type) := data.kinds[type] if not _changed

get(type) := in_force[type] if _changed

# METADATA
# description: The policy kind of a policy; undefined where its kind is none.
of_policy(policy_key) := get(keys.parse(policy_key).type)

# METADATA
# description: The names of all policy kinds in force.
names := {name | some name, _ in data.kinds} if not _changed

names := object.keys(in_force) if _changed

_changed if {
	some key in lookup.touched
	keys.parse(key).type in {policykind_type, "apiextensions.k8s.io/CustomResourceDefinition"}
}

# METADATA
# description: All policy kinds in force, by `<group>/<Kind>`.
in_force[type] := normal(type, spec) if {
	some type, spec in _described
	not problem(spec)
}

# A PolicyKind that makes no sense changes nothing: then the preset alone is in force.
in_force[type] := normal(type, spec) if {
	some type, spec in _presets
	problem(_described[type])
	not problem(spec)
}

# What the preset and the oldest PolicyKind of a kind say together; a younger PolicyKind changes nothing.
_described[type] := object.union(object.remove(preset, object.keys(declared)), declared) if {
	some type in (object.keys(_presets) | object.keys(_declared))
	preset := object.get(_presets, type, {})
	declared := object.get(_declared, type, {})
}

_presets := {_type(spec): spec | some spec in data.bridge.presets}

_declared := {type: lookup.get(claims[0][2]).spec | some type, claims in _claims}

_claims := {type: claims |
	some obj in _policykinds
	type := _type(obj.spec)
	claims := sort({[lookup.age(keys.of(other)), other.metadata.name, keys.of(other)] |
		some other in _policykinds
		_type(other.spec) == type
	})
}

_policykinds := lookup.objects_in(policykind_type, "-")

_type(spec) := concat("/", [keys.group_name(object.get(spec, "group", "")), spec.kind])

# METADATA
# description: |
#   What a PolicyKind is told, `{status, reason, message}` of its Accepted condition. One that makes no sense, or is the
#   younger of two for one kind, changes nothing (semantics K1, C3).
verdict(policykind_key) := {"status": "False", "reason": "Invalid", "message": message} if {
	message := shape_problems(object.get(lookup.get(policykind_key), "spec", null))[0]
} else := {"status": "False", "reason": "Conflicted", "message": message} if {
	type := _type(lookup.get(policykind_key).spec)
	winner := _claims[type][0][2]
	winner != policykind_key
	message := sprintf("%s is described by the older PolicyKind %s", [type, keys.parse(winner).name])
} else := {"status": "False", "reason": "Invalid", "message": message} if {
	message := problem(_described[_type(lookup.get(policykind_key).spec)])
} else := {"status": "True", "reason": "Accepted", "message": "PolicyKind is in force"}
