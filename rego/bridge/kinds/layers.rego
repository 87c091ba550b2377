package bridge.kinds

# METADATA
# description: |
#   What layers say together, field by field, later over earlier (semantics K1). A layer is `{name, fields}`.
merge_layers(layers) := {field: values[count(values) - 1] |
	some layer in layers
	some field, _ in layer.fields
	values := [other.fields[field] | some other in layers; field in object.keys(other.fields)]
}

# METADATA
# description: |
#   Types that a preset, a CRD's label or a PolicyKind makes policy kinds. A CRD without the label makes none; where there
#   is one anyway, its schema counts.
described_types := (object.keys(presets) | object.keys(declared_specs)) | {type | some type, _ in crds; labelled_class(type)}

# METADATA
# description: The layers that may describe a type, all of them first.
candidate_layers(type) := [layers |
	some layers in [layers_of(type, _sensible(type)), layers_of(type, {}), [_preset_layer(type)]]
	_makes_a_kind(type, layers)
]

_makes_a_kind(_, layers) if layers[_].name in {"Preset", "PolicyKind"}

_makes_a_kind(type, _) if labelled_class(type)

# What the oldest PolicyKind of a type says, unless it has a fault of its own.
_sensible(type) := declared_specs[type] if {
	count(own_problems(declared_specs[type])) == 0
} else := {}

# METADATA
# description: The layers that describe a type, where its PolicyKind says this; those without fields are left out.
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
presets := {type_of_spec(spec): spec | some spec in data.bridge.presets}

# What the CRD of a type says. A PolicyKind that says where the spec proper is, or that policies do not merge, says all
# about how policies merge, and so does a preset, which was written for the vendor's code. Neither does the label of a CRD
# change the class of a preset (kgateway's say Direct of kinds that are inherited), and no schema says the level at which
# policies act.
_read(type, declared) := object.remove(found, array.flatten([
	_fields_of_merging[says_all],
	_assumed_fields(type, declared),
	[field | some field in ["class", "effectiveTarget"]; presets[type][field]],
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
	true: ["specPaths", "strategies", "wrappers", "defaultStrategy", "strategyFrom", "mergesWith", "parentLevels", "sameLevel"],
	false: [],
}

# That policies of a kind do not merge at one target is assumed of a CRD without a field of merging, where no other layer
# says how they merge.
_assumed_fields(type, declared) := ["sameLevel"] if {
	not schema_form(type).specPaths
	some fields in [declared, object.get(presets, type, {})]
	count(object.keys(fields) & _merging_fields) > 0
} else := []

_merging_fields := {"specPaths", "strategies", "defaultStrategy", "wrappers", "custom", "merge", "strategyFrom", "mergesWith", "fold"}

# The class by another layer than the CRD.
_other_class(type, declared) := object.get(declared, "class", object.get(presets, [type, "class"], ""))
