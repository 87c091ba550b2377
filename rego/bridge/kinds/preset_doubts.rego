package bridge.kinds

# METADATA
# description: |
#   What presets read and the schemas of the installed CRDs do not have, by the CRD's key, each as a message: the release of the
#   vendor is another one than the preset's. A schema that allows any field, or that has no fields of spec, has all. A PolicyKind with
#   `specPaths` says itself what is read.
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

# Where a schema has the field of some segments.
_in_schema(segments) := array.flatten([["properties", segment] | some segment in segments])
