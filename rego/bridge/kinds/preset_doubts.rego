package bridge.kinds

# METADATA
# description: |
#   Fields that presets read but that the schemas of the installed CRDs lack, as messages by the CRD's key: the installed release
#   differs from the release of the preset. A schema that allows any field, or without fields of spec, has all fields. A PolicyKind
#   with `specPaths` replaces the fields of the preset.
preset_doubts[crds[type].key] := messages if {
	some type, preset in presets
	crds[type]
	not declared_specs[type].specPaths
	count(spec_schema(type)) > 0
	messages := [sprintf("the preset reads %s, and the schema has no such field: the preset is for another release", [path]) |
		some path in _paths_read(preset)
		not _has_field(crds[type].schema, path)
	]
	count(messages) > 0
}

_paths_read(preset) := sort({path |
	some list in ["specPaths", "order", "selectors"]
	some place in preset[list]
	some field in ["path", "strategyPath", "namespaces"]
	path := place[field]
})

_has_field(schema, path) if object.get(schema, _in_schema(split(trim_prefix(path, "/"), "/")), null) != null

_has_field(schema, path) if {
	segments := split(trim_prefix(path, "/"), "/")
	some end in numbers.range(0, count(segments) - 1)
	object.get(schema, array.concat(_in_schema(array.slice(segments, 0, end)), ["x-kubernetes-preserve-unknown-fields"]), false) == true
}

# A schema has the field at these segments.
_in_schema(segments) := array.flatten([["properties", segment] | some segment in segments])
