package bridge.kinds

# METADATA
# description: The merge of layers, field by field, later over earlier (semantics K1). A layer is `{name, fields}`.
merge_layers(layers) := {field: values[count(values) - 1] |
	some layer in layers
	some field, _ in layer.fields
	values := [other.fields[field] | some other in layers; field in object.keys(other.fields)]
}

# METADATA
# description: |
#   Types that a preset, a CRD's label or a PolicyKind makes policy kinds. A CRD without the label makes none; but if
#   another layer does, the CRD's schema counts.
described_types := (object.keys(presets) | object.keys(declared_specs)) | {type | some type, _ in crds; labelled_class(type)}

# METADATA
# description: The possible sets of layers for a type, the complete set first.
candidate_layers(type) := [layers |
	some layers in [layers_of(type, _sensible(type)), layers_of(type, {}), [_preset_layer(type)]]
	_makes_a_kind(type, layers)
]

_makes_a_kind(_, layers) if layers[_].name in {"Preset", "PolicyKind"}

_makes_a_kind(type, _) if labelled_class(type)

# The spec of the oldest PolicyKind of a type, unless it is invalid by itself.
_sensible(type) := declared_specs[type] if {
	count(own_problems(declared_specs[type])) == 0
} else := {}

# METADATA
# description: The layers of a type whose PolicyKind has this spec; those without fields are omitted.
layers_of(type, declared) := [layer |
	some layer in [
		_preset_layer(type),
		{"name": "CustomResourceDefinition", "fields": _read(type, declared)},
		{"name": "PolicyKind", "fields": declared},
	]
	count(layer.fields) > 0
]

_preset_layer(type) := {"name": "Preset", "fields": object.get(presets, type, {})}

# METADATA
# description: The shipped presets, by type.
presets := {type_of_spec(spec): spec | some spec in data.bridge_settings.presets}

# The fields from the CRD of a type. A PolicyKind that defines the spec proper, or that policies do not merge, replaces
# all of the CRD's fields about merging, and so does a preset, which follows the vendor's code. The label of a CRD does
# not change the class of a preset (kgateway's labels state Direct for inherited kinds), and no schema states the level
# at which policies act, or whether the vendor's code follows the namespace of a ref.
_read(type, declared) := object.remove(found, array.flatten([
	_fields_of_merging[says_all],
	_assumed_fields(type, declared),
	[field | some field in ["class", "effectiveTarget", "crossNamespace"]; presets[type][field]],
])) if {
	[group, kind] := split(type, "/")
	crds[type].version != ""
	found := object.union({"group": group, "kind": kind}, discovered_fields(type, _other_class(type, declared)))
	said := object.union(object.get(presets, type, {}), declared)
	says_all := count([true | some field, value in said; _says_all(field, value)]) > 0
} else := {}

_says_all("specPaths", _)

_says_all("defaultStrategy", "Additive")

_fields_of_merging := {
	true: ["specPaths", "strategies", "defaultStrategy", "parentLevels", "sameLevel"],
	false: [],
}

# Without a field about merging in the CRD, and without another layer about merging, policies of a kind do not merge at
# one target.
_assumed_fields(type, declared) := ["sameLevel"] if {
	not schema_form(type).specPaths
	some fields in [declared, object.get(presets, type, {})]
	count(object.keys(fields) & _merging_fields) > 0
} else := []

_merging_fields := {"specPaths", "strategies", "defaultStrategy", "custom", "merge", "parentLevels"}

# The class from another layer than the CRD.
_other_class(type, declared) := object.get(declared, "class", object.get(presets, [type, "class"], ""))
