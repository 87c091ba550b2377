package bridge.kinds

# METADATA
# description: |
#   How a CRD's schema defines merging, as fields of a PolicyKind; empty if it does not. Wrappers (defaults, overrides;
#   historic default, override) and a choice of strategy (strategy; Envoy Gateway's mergeType).
schema_form(type) := object.union_n([
	{"specPaths": spec_paths | spec_paths := _spec_paths(type)},
	{"strategies": strategies |
		strategies := _strategies_of(type)
		count(strategies) > 0
	},
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

# The historic wrappers are merged by field (GEP-713's first version), current ones as a whole unless a policy selects
# another strategy.
_wrapper_strategies := {
	"overrides": "AtomicOverrides",
	"override": "PatchOverrides",
	"defaults": "AtomicDefaults",
	"default": "PatchDefaults",
}

# In the order in which they are checked.
_wrappers(type) := [name |
	some name in ["overrides", "override", "defaults", "default"]
	spec_schema(type)[name].type == "object"
]

# The field beside a bare spec with which a policy selects its strategy.
_chosen_by(type) := [name |
	some name in ["strategy", "mergeType"]
	_is_text(spec_schema(type)[name])
][0]

_is_text(schema) if schema.type == "string"

# The strategies of the values that a policy can select; GEP-713's own names need no entry (semantics F7).
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

# The assumed values if a schema does not list them.
_unlisted := {"strategy": ["atomic", "merge", "patch"], "mergeType": ["JSONMerge", "Replace", "StrategicMerge"]}

_meanings := {
	"atomic": "Atomic",
	"merge": "Patch",
	"patch": "Patch",
	"jsonmerge": "PatchDefaults",
	"strategicmerge": "PatchDefaults",
	"replace": "AtomicDefaults",
}

# Envoy Gateway: the more specific policy selects how it merges into the policy of its listener, otherwise of its
# Gateway; without a selection it applies alone; only the older of two for one target is accepted.
_merge_type_kind := {
	"parentLevels": ["Gateway", "ListenerSet", "Listener"],
	"defaultStrategy": "AtomicDefaults",
	"sameLevel": "Conflict",
}
