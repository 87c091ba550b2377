package bridge.kinds

import data.bridge.lib.leaves

# METADATA
# description: |
#   The places where policies of a kind with these `specPaths` may have their spec proper, in order, with derived data,
#   `{path, segments, strategy, strategySegments, otherStrategies, drop, inner, rivals, holder}`. `drop` are the fields
#   there that are never proper, `withLabels` those that are only in policies that select by labels, `inner` the strategy's field deeper inside, `otherStrategies` the places of strategies
#   that belong to other entries, `rivals` the wrappers that exclude this one, `holder` the bare spec around this
#   wrapper with its allowed fields. Stored in `data.kinds`, so no query computes them.
places(spec_paths) := [place |
	some entry in spec_paths
	segments := leaves.segments(entry.path)
	relative := _strategy_field(entry)
	strategy_segments := leaves.segments(object.get(entry, "strategyPath", ""))
	place := {
		"path": entry.path,
		"segments": segments,
		"strategy": object.get(entry, "strategy", ""),
		"strategySegments": strategy_segments,
		"otherStrategies": [other |
			some other in {leaves.segments(other.strategyPath) | some other in spec_paths}
			not other in [[], strategy_segments]
			array.slice(other, 0, count(segments)) != segments
		],
		"drop": array.concat(_never_proper(entry), _wrappers_in(spec_paths, segments)),
		"withLabels": object.get(entry, "withLabels", []),
		"inner": [relative | count(relative) > 1],
		"rivals": {other.path: leaves.segments(other.path) |
			some other in spec_paths
			not _inside(other.path, entry.path)
			not _inside(entry.path, other.path)
		},
		"holder": _holder(spec_paths, segments),
	}
]

# The fields of a spec at an entry's path that are refs, the strategy, or declared as not proper.
_never_proper(entry) := array.concat(
	array.concat(["targetRefs", "targetRef", "targetSelectors"], object.get(entry, "without", [])),
	[field | some field in _strategy_field(entry); count(_strategy_field(entry)) == 1],
)

# The strategy's field relative to the spec, if it is inside it.
_strategy_field(entry) := rest if {
	path := leaves.segments(entry.strategyPath)
	base := leaves.segments(entry.path)
	array.slice(path, 0, count(base)) == base
	rest := array.slice(path, count(base), count(path))
} else := []

_inside(path, other) if startswith(concat("", [path, "/"]), concat("", [other, "/"]))

# The bare spec that contains a wrapper, `{segments, allowed}`; empty if no bare spec does.
_holder(spec_paths, segments) := {"segments": above, "allowed": allowed} if {
	above := array.slice(segments, 0, count(segments) - 1)
	bare := [entry | some entry in spec_paths; leaves.segments(entry.path) == above][0]
	allowed := array.concat(_never_proper(bare), _wrappers_in(spec_paths, above))
} else := {}

# The fields of a bare spec that are wrappers; a null one does not count.
_wrappers_in(spec_paths, above) := [name |
	some entry in spec_paths
	path := leaves.segments(entry.path)
	count(path) == count(above) + 1
	array.slice(path, 0, count(above)) == above
	name := path[count(above)]
]

# METADATA
# description: |
#   The leaves that the defaults of the CRD's schema give a field beside a wrapper, by the field's pointer, each as
#   `[pointer, value]`: the API server sets them where a policy has no such field. Empty for a kind without wrappers.
schema_defaults(type, spec_paths) := {field: {leaf |
	some outer, default_value in defaults
	startswith(concat("", [outer, "/"]), concat("", [field, "/"]))
	some leaf in leaves.values(outer, default_value)
} |
	some field, _ in defaults
	_is_beside(field, spec_paths)
} if {
	count(spec_paths) > 1
	defaults := {leaves.pointer(fields): node["default"] |
		walk(crds[type].schema, [path, node])
		_ = node["default"]
		count(path) % 2 == 0
		fields := [name | some position, name in path; position % 2 == 1]
		count([word | some position, word in path; position % 2 == 0; word != "properties"]) == 0
	}
} else := {}

# A wrapper, a strategy, or another field of an object that has a wrapper.
_is_beside(field, spec_paths) if {
	some entry in spec_paths
	field == entry.strategyPath
} else if {
	above := concat("/", array.slice(split(field, "/"), 0, count(split(field, "/")) - 1))
	some entry in spec_paths
	_inside(entry.path, above)
	entry.path != above
}
