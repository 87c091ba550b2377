package bridge.kinds

# METADATA
# description: |
#   How a CRD's schema says that policies merge, as fields of a PolicyKind; empty where it says nothing. Wrappers (defaults,
#   overrides; historic default, override) and a choice of strategy (strategy; Envoy Gateway's mergeType).
schema_form(type) := object.union_n([
	{"specPaths": spec_paths | spec_paths := _spec_paths(type)},
	{"strategies": strategies |
		strategies := _strategies_of(type)
		count(strategies) > 0
	},
	{"wrappers": "Both" | {"default", "override"} - {name | some name in _wrappers(type)} == set()},
	{field: value | _chosen_by(type) == "mergeType"; some field, value in _merge_type_kind},
])

_spec_paths(type) := array.concat(
	[object.union_n([
		{"path": concat("/", ["/spec", name]), "strategy": _wrapper_strategies[name]},
		{"strategyPath": concat("/", ["/spec", name, "strategy"]) | _is_text(spec_schema(type)[name].properties.strategy)},
	]) |
		some name in _wrappers(type)
	],
	[object.union({"path": "/spec"}, {"strategyPath": concat("/", ["/spec", field]) | field := _chosen_by(type)})],
) if {
	_merging(type)
}

_merging(type) if count(_wrappers(type)) > 0

_merging(type) if _chosen_by(type)

# The historic wrappers are merged by field (GEP-713's first version), those of today as a whole unless a policy says otherwise.
_wrapper_strategies := {
	"overrides": "AtomicOverrides",
	"override": "PatchOverrides",
	"defaults": "AtomicDefaults",
	"default": "PatchDefaults",
}

# In the order in which they are looked for.
_wrappers(type) := [name |
	some name in ["overrides", "override", "defaults", "default"]
	spec_schema(type)[name].type == "object"
]

# The field beside a bare spec by which a policy chooses its strategy.
_chosen_by(type) := [name |
	some name in ["strategy", "mergeType"]
	_is_text(spec_schema(type)[name])
][0]

_is_text(schema) if schema.type == "string"

# What the values that a policy can choose mean; GEP-713's own names need no entry (semantics F7).
_strategies_of(type) := {value: meaning |
	some [place, schema] in _choices(type)
	some value in object.get(schema, "enum", _unlisted[place[count(place) - 1]])
	meaning := _meanings[lower(value)]
}

_choices(type) := [[place, schema] |
	some place in [["strategy"], ["mergeType"], ["overrides", "properties", "strategy"], ["defaults", "properties", "strategy"]]
	schema := object.get(spec_schema(type), place, null)
	_is_text(schema)
]

# The values that are taken for granted where a schema does not list them.
_unlisted := {"strategy": ["atomic", "merge", "patch"], "mergeType": ["JSONMerge", "Replace", "StrategicMerge"]}

_meanings := {
	"atomic": "Atomic",
	"merge": "Patch",
	"patch": "Patch",
	"jsonmerge": "PatchDefaults",
	"strategicmerge": "PatchDefaults",
	"replace": "AtomicDefaults",
}

# Envoy Gateway: the more specific policy says how it is merged into that of its listener, else of its Gateway; one that
# does not say stands alone; of two for one target the older has it.
_merge_type_kind := {
	"strategyFrom": "Challenger",
	"mergesWith": "Closest",
	"parentLevels": ["Gateway", "ListenerSet", "Listener"],
	"defaultStrategy": "AtomicDefaults",
	"sameLevel": "Conflict",
}
