# METADATA
# title: Policy kinds
# description: |
#   Data describes a policy kind (design, "Policy kinds"), in layers: shipped presets, CRDs, PolicyKind resources,
#   merged field by field, later over earlier (semantics K1).
package bridge.kinds

import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lib.levels
import data.bridge.lookup

policykind_type := "policybridge.io/PolicyKind"

# An active policy kind by its `<group>/<Kind>`, with all defaults. `data.kinds` is the stored result of `active_kinds`;
# a query that changes a PolicyKind evaluates the rule itself.
get(type) := data.kinds[type] if {
	not has_changes
} else := active_kinds[type] if has_changes

_all_kinds := active_kinds if {
	has_changes
} else := data.kinds if {
	true
} else := {}

of_policy(policy_key) := get(keys.type_of(policy_key))

names := object.keys(_all_kinds)

has_changes if {
	not lookup.has_no_changes
	some key in lookup.changed_keys
	keys.parse(key).type in {policykind_type, crd_type}
}

# All active policy kinds, by `<group>/<Kind>`. If a PolicyKind, or the CRD's part, is invalid together with the other
# layers, that layer is ignored. `layers` names those that count, `by` is a hash of the description (see `stamp`),
# `traits` are derived from it (see `traits_of`), `preset` is true if a preset describes it and no PolicyKind does,
# `versions` are the versions of its policies (see `_versions_of`; absent without a CRD).
active_kinds[type] := object.union_n([description, {"versions": versions | versions := _versions_of(type)}, {
	"layers": names_of_layers,
	"by": _description_hash(description),
	"traits": traits_of(description),
	"preset": ({name | some name in names_of_layers} - {"CustomResourceDefinition"}) == {"Preset"},
}]) if {
	some type in described_types
	layers := [candidate | some candidate in _candidate_layers(type); not problem(merge_layers(candidate))][0]
	names_of_layers := [layer.name | some layer in layers]
	description := _with_doubt(names_of_layers, normal_form(type, merge_layers(layers)))
}

# A kind of which only its CRD is known, by its label: a schema does not show the level at which policies act, or how
# they merge, so everything about the kind is a guess.
_with_doubt(["CustomResourceDefinition"], description) := object.union(description, {"notModeled": [{"message": "guessed from the CRD's label"}]})
_with_doubt(names_of_layers, description) := description if names_of_layers != ["CustomResourceDefinition"]

# Why all answers about a policy kind are uncertain, in a list: features without a path that the bridge does not model.
# No problem of a policy is derived from such answers. Empty for most kinds.
doubts_of(type) := [feature.message | some feature in get(type).notModeled; not feature.path]

# The spec of the oldest PolicyKind of each type.
declared_specs := {type: lookup.get(claims[0][2]).spec | some type, claims in _claims}

_claims := {type: claims |
	some obj in _policykinds
	type := _type_of_spec(obj.spec)
	claims := sort({[lookup.age(keys.of(other)), other.metadata.name, keys.of(other)] |
		some other in _policykinds
		_type_of_spec(other.spec) == type
	})
}

_policykinds := lookup.objects_in(policykind_type, "-")

_type_of_spec(spec) := concat("/", [keys.group_name(object.get(spec, "group", "")), spec.kind])

# The Accepted condition of a PolicyKind, `{status, reason, message}`. An invalid one, and the younger of two for one
# kind, has no effect (semantics K1, C3).
verdict(policykind_key) := {"status": "False", "reason": "Invalid", "message": message} if {
	message := concat("; ", own_problems(object.get(lookup.get(policykind_key), "spec", null)))
	message != ""
} else := {"status": "False", "reason": "Conflicted", "message": message} if {
	type := _type_of_spec(lookup.get(policykind_key).spec)
	winner := _claims[type][0][2]
	winner != policykind_key
	message := sprintf("The older PolicyKind/%s already describes %s", [keys.parse(winner).name, type])
} else := {"status": "False", "reason": "Invalid", "message": message} if {
	type := _type_of_spec(lookup.get(policykind_key).spec)
	message := problem(merge_layers(layers_of(type, declared_specs[type])))
} else := {"status": "True", "reason": "Accepted", "message": concat("; ", array.concat(["PolicyKind is active"], doubts_about(spec)))} if {
	spec := lookup.get(policykind_key).spec
}

# The merge of layers, field by field, later over earlier (semantics K1). A layer is `{name, fields}`.
merge_layers(layers) := {field: values[count(values) - 1] |
	some layer in layers
	some field, _ in layer.fields
	values := [other.fields[field] | some other in layers; field in object.keys(other.fields)]
}

# Types that a preset, a CRD's label or a PolicyKind makes policy kinds. A CRD without the label makes none; but if
# another layer does, the CRD's schema counts.
described_types := (object.keys(presets) | object.keys(declared_specs)) | {type | some type, _ in crds; labelled_class(type)}

# The possible sets of layers for a type, the complete set first. A CRD without the label makes no kind by itself,
# because it has no effectiveTarget.
_candidate_layers(type) := [layers_of(type, _sensible(type)), layers_of(type, {}), [_preset_layer(type, {})]]

# The spec of the oldest PolicyKind of a type, unless it is invalid by itself.
_sensible(type) := declared_specs[type] if {
	count(own_problems(declared_specs[type])) == 0
} else := {}

# The layers of a type whose PolicyKind has this spec; those without fields are omitted.
layers_of(type, declared) := [layer |
	some layer in [
		_preset_layer(type, declared),
		{"name": "CustomResourceDefinition", "fields": _read(type, declared)},
		{"name": "PolicyKind", "fields": declared},
	]
	count(layer.fields) > 0
]

# The fields of a preset. A PolicyKind of another class replaces all of the preset's fields about merging, because most
# of them are of one class alone.
_preset_layer(type, declared) := {"name": "Preset", "fields": object.remove(preset, [field |
	object.get(declared, "class", preset.class) != preset.class
	some field in ["specPaths", "strategies", "defaultStrategy", "custom", "merge", "parentLevels", "sameLevel", "effectiveTarget"]
])} if {
	preset := presets[type]
} else := {"name": "Preset", "fields": {}}

presets := {_type_of_spec(spec): spec | some spec in data.bridge_settings.presets}

# The fields from the CRD of a type. A PolicyKind that defines the spec proper, or that policies do not merge, replaces
# all of the CRD's fields about merging, and so does a preset, which follows the vendor's code. The label of a CRD does
# not change the class of a preset (kgateway's labels state Direct for inherited kinds), and no schema states the level
# at which policies act, or whether the vendor's code follows the namespace of a ref.
_states_merging(layer) if layer.specPaths
_states_merging(layer) if layer.defaultStrategy == "Additive"

_read(type, declared) := object.remove(found, array.flatten([
	[field |
		_states_merging(other)
		some field in ["specPaths", "strategies", "defaultStrategy", "parentLevels", "sameLevel"]
	],
	["sameLevel" |
		# The CRD has no field about merging, and another layer has one.
		not schema_form(type).specPaths
		count(object.keys(other) & {"specPaths", "strategies", "defaultStrategy", "custom", "merge", "parentLevels"}) > 0
	],
	[field | some field in ["class", "effectiveTarget", "crossNamespace"]; presets[type][field]],
])) if {
	[group, kind] := split(type, "/")
	crds[type].version != ""
	other := object.union(object.get(presets, type, {}), declared)
	found := object.union({"group": group, "kind": kind}, discovered_fields(type, object.get(other, "class", "")))
} else := {}

# Sets of types that depend on the active kinds alone, each `{type: true}`, see `sets_of`. `data.kind_sets` is the
# stored result, so that no query iterates over all kinds for one object.
sets := data.kind_sets if {
	not has_changes
} else := sets_of(_all_kinds)

# The sets of these kinds: `managed` kinds have mode Manage, `selecting` ones may select their targets by a field or are bound
# to them, a `preset` alone describes the `presets`. `virtual`: the targets of which every name exists. `binding`: the
# types of the objects that bind policies, each with the kinds of these. `placed`: the types that kinds place below others,
# with their entries; `placing`: those above, with the types below. `served`: the types that the bridge replicates
# for these kinds, without kinds of presets that the cluster does not have.
sets_of(described) := {
	"managed": {type: true | some type, kind in described; kind.mode == "Manage"},
	"presets": {type: true | some type, kind in described; kind.preset},
	"selecting": selecting_of(described),
	"virtual": {type_of_target(target): true | some kind in described; some target in kind.targets; target.virtual},
	"binding": {entry.type: kinds_bound |
		some kind in described
		some entry in kind.boundBy
		kinds_bound := {other: true | some other, about in described; about.boundBy[_].type == entry.type}
	},
	"placed": {type: entries |
		type := described[_].hierarchy[_].child
		entries := {entry | some kind in described; some entry in kind.hierarchy; entry.child == type}
	},
	"placing": {type: children |
		type := described[_].hierarchy[_].parent
		children := {entry.child: true | some kind in described; some entry in kind.hierarchy; entry.parent == type}
	},
	"served": {type: true |
		some policy_kind, kind in described
		kind.layers != ["Preset"]
		some type in array.concat([policy_kind], kind.traits.reads)
	},
}

selecting_of(described) := {type: true | some type, kind in described; some field in ["selectors", "boundBy"]; kind[field]}

# The inputs of facts of a kind's policies besides the policy: a hash of the kind's description (`by`), and one of the
# levels from extension modules. Stored facts with another stamp are ignored.
stamp(type) := get(type).by if {
	levels.extensions == {}
} else := concat(" ", [get(type).by, crypto.md5(json.marshal(levels.extensions))])

# The inputs of the links of a type's objects that bind policies: the descriptions of the kinds of these.
binding_stamp(type) := crypto.md5(concat(" ", sort([get(policy_kind).by | some policy_kind, _ in sets.binding[type]])))

# The inputs of the links of a type's objects that kinds place above others.
placing_stamp(type) := concat(" ", sort(object.keys(sets.placing[type])))

# The hash of a kind's description, with the bounds on policies.
_description_hash(description) := crypto.md5(json.marshal([
	object.remove(description, ["layers"]),
	{bounds | bounds := data.bridge_settings.bounds},
]))

# The policy kinds that queries evaluate: without kinds of shipped presets that have no policies, because most clusters
# lack most vendors.
in_use := names - (object.keys(sets.presets) - lookup.types)

# METADATA
# description: |
#   The annotations of other objects than policies on which it depends what is in effect: what `delegation` reads, and features
#   that are not modeled.
annotations_of_targets := {segments[2] |
	some type in in_use
	some segments in array.concat(
		[found | found := get(type).delegation.segments],
		[leaves.segments(feature.path) | some feature in get(type).notModeled; feature.onPath],
	)
	array.slice(segments, 0, 2) == ["metadata", "annotations"]
}

# How the bridge reads objects in each served version of a CRD (semantics K7). `Read` is the version that the bridge reads. The
# fields and enumerated values of a `Like` version are all in that version too, those of an `Unlike` version are not. Undefined
# without a served version.
_versions_of(type) := {version.name: _reading(type, version) |
	some version in lookup.get(crds[type].key).spec.versions
	is_served(version)
} if crds[type].version != ""

_reading(type, version) := "Read" if {
	version.name == crds[type].version
} else := "Like" if {
	version.schema.openAPIV3Schema == crds[type].schema
} else := "Like" if {
	_is_within(version.schema.openAPIV3Schema, crds[type].schema)
} else := "Unlike"

_is_within(schema, other) if {
	count(_types_of_fields(schema) - _types_of_fields(other)) == 0
	values := _values_of_fields(other)
	every place, enumerated in object.filter(_values_of_fields(schema), object.keys(values)) {
		count(enumerated - values[place]) == 0
	}
}

_types_of_fields(schema) := {[path, value] |
	walk(schema.properties.spec, [path, value])
	path[count(path) - 1] == "type"
	is_string(value)
}

_values_of_fields(schema) := {path: {value | some value in values} |
	walk(schema.properties.spec, [path, values])
	path[count(path) - 1] == "enum"
	is_array(values)
}

# The problem with the version of a policy, `{reason, message}` (semantics K7). An API server rejects versions that it
# does not serve, and converts others to the version that the bridge reads. In a folder no program converts them.
version_problem(type, api_version) := {"reason": "VersionNotServed", "message": message} if {
	versions := get(type).versions
	not versions[keys.version(api_version)]
	message := sprintf("apiVersion %q is not served: the CRD serves %s", [api_version, concat(", ", sort(object.keys(versions)))])
} else := {"reason": "VersionDiffers", "message": message} if {
	versions := get(type).versions
	versions[keys.version(api_version)] == "Unlike"
	message := sprintf("apiVersion %q has other fields than %s, which the bridge reads. Write the policy in that version", [
		api_version,
		[version | some version, "Read" in versions][0],
	])
}
