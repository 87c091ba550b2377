# METADATA
# title: Policy kinds
# description: |
#   Data describes a policy kind (design, "Policy kinds"), in layers: shipped presets, CRDs, PolicyKind resources,
#   merged field by field, later over earlier (semantics K1).
package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The type of PolicyKinds.
policykind_type := "policybridge.io/PolicyKind"

# METADATA
# description: |
#   An active policy kind by its `<group>/<Kind>`, with all defaults. `data.kinds` is the stored result of
#   `active_kinds`; a query that changes a PolicyKind evaluates the rule itself.
get(type) := data.kinds[type] if {
	not has_changes
} else := active_kinds[type] if has_changes

# METADATA
# description: All active policy kinds by their names.
all_kinds := active_kinds if {
	has_changes
} else := data.kinds if {
	true
} else := {}

# METADATA
# description: The policy kind of a policy; undefined if its kind is not a policy kind.
of_policy(policy_key) := get(keys.type_of(policy_key))

# METADATA
# description: The names of all active policy kinds.
names := object.keys(all_kinds)

# METADATA
# description: The query changes objects that describe policy kinds.
has_changes if {
	some key in lookup.changed_keys
	keys.parse(key).type in {policykind_type, crd_type}
}

# METADATA
# description: |
#   All active policy kinds, by `<group>/<Kind>`. If a PolicyKind, or the CRD's part, is invalid together with the other
#   layers, that layer is ignored. `layers` names those that count, `by` is a hash of the description (see `stamp`),
#   `traits` are derived from it (see `traits_of`), `preset` is true if a preset describes it and no PolicyKind does,
#   `versions` are the versions of its policies (see `versions_of`; absent without a CRD).
active_kinds[type] := object.union_n([description, {"versions": versions | versions := versions_of(type)}, {
	"layers": names_of_layers,
	"by": description_hash(description),
	"traits": traits_of(description),
	"preset": _is_preset(names_of_layers),
}]) if {
	some type in described_types
	layers := [candidate | some candidate in candidate_layers(type); not problem(merge_layers(candidate))][0]
	names_of_layers := [layer.name | some layer in layers]
	description := normal_form(type, merge_layers(layers))
}

_is_preset(names_of_layers) if {
	"Preset" in names_of_layers
	not "PolicyKind" in names_of_layers
} else := false

# METADATA
# description: The spec of the oldest PolicyKind of each type.
declared_specs := {type: lookup.get(claims[0][2]).spec | some type, claims in _claims}

_claims := {type: claims |
	some obj in _policykinds
	type := type_of_spec(obj.spec)
	claims := sort({[lookup.age(keys.of(other)), other.metadata.name, keys.of(other)] |
		some other in _policykinds
		type_of_spec(other.spec) == type
	})
}

_policykinds := lookup.objects_in(policykind_type, "-")

# METADATA
# description: The type that the spec of a PolicyKind describes.
type_of_spec(spec) := concat("/", [keys.group_name(object.get(spec, "group", "")), spec.kind])

# METADATA
# description: |
#   The Accepted condition of a PolicyKind, `{status, reason, message}`. An invalid one, and the younger of two for one
#   kind, has no effect (semantics K1, C3).
verdict(policykind_key) := {"status": "False", "reason": "Invalid", "message": message} if {
	message := concat("; ", own_problems(object.get(lookup.get(policykind_key), "spec", null)))
	message != ""
} else := {"status": "False", "reason": "Conflicted", "message": message} if {
	type := type_of_spec(lookup.get(policykind_key).spec)
	winner := _claims[type][0][2]
	winner != policykind_key
	message := sprintf("%s is described by the older PolicyKind %s", [type, keys.parse(winner).name])
} else := {"status": "False", "reason": "Invalid", "message": message} if {
	type := type_of_spec(lookup.get(policykind_key).spec)
	message := problem(merge_layers(layers_of(type, declared_specs[type])))
} else := {"status": "True", "reason": "Accepted", "message": concat("; ", array.concat(["PolicyKind is active"], doubts_about(spec)))} if {
	spec := lookup.get(policykind_key).spec
}
