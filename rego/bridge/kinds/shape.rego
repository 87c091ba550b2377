package bridge.kinds

import data.bridge.merge

# METADATA
# description: |
#   What is wrong with what a PolicyKind says itself, whatever other layers say: shapes, and fields that there are not. An
#   API server refuses these by the CRD's schema; a folder of manifests has nobody else to tell.
own_problems(spec) := array.concat(shape_problems(spec), unknown_fields(spec))

# METADATA
# description: Fields that a PolicyKind does not have, each as a message.
unknown_fields(spec) := array.concat(
	[sprintf("%s is no field of a PolicyKind", [field]) | some field in sort(object.keys(spec) - fields)],
	[sprintf("%s: %s is no field of its entries", [list, field]) |
		some list, known in entry_fields
		some entry in spec[list]
		some field in sort(object.keys(entry) - known)
	],
) if {
	is_object(spec)
} else := []

# METADATA
# description: Every field of the entries of a PolicyKind's lists.
entry_fields := {
	"targets": {"group", "kind", "sections", "role", "virtual"},
	"specPaths": {"path", "strategy", "strategyPath", "without"},
}

# METADATA
# description: Every field of a PolicyKind's spec, as in its CRD.
fields := {
	"group",
	"kind",
	"mode",
	"controllerName",
	"class",
	"targets",
	"effectiveTarget",
	"effectiveKinds",
	"crossNamespace",
	"specPaths",
	"strategies",
	"defaultStrategy",
	"custom",
	"merge",
	"sameLevel",
	"strategyFrom",
	"mergesWith",
	"fold",
	"wrappers",
	"conditions",
	"statusShape",
	"ancestorLevel",
	"gatewayControllers",
	"fanout",
}

# METADATA
# description: |
#   Fields of a policy kind's description that are no such thing at all, in a stable order. What else is wrong is asked
#   only of a description that has none of these.
shape_problems(spec) := ["spec is no object"] if not is_object(spec)

shape_problems(spec) := array.concat(
	[sprintf("%s is missing, or is no name", [field]) | some field in ["group", "kind"]; not _name(spec, field)],
	[sprintf("%s must be %s", [field, shape]) |
		some field, shape in _shapes
		value := spec[field]
		not _fits(shape, value)
	],
) if {
	is_object(spec)
}

# The core group is "" (or core), and may be left out.
_name(spec, "group") if regex.match(`^[a-z0-9.-]*$`, object.get(spec, "group", ""))

_name(spec, "kind") if regex.match(`^[A-Za-z][A-Za-z0-9]*$`, spec.kind)

_shapes := {
	"controllerName": "a string",
	"custom": "the name of a package, letters, digits and _",
	"targets": "a list of one or more {group, kind, sections, role, virtual}",
	"effectiveKinds": "a list of one or more kinds",
	"gatewayControllers": "a list of one or more controller names",
	"specPaths": "a list of one or more {path, strategy, strategyPath, without}, paths as JSON pointers",
	"strategies": "an object of strategies by name, each a strategy or {strategy, merge}",
	"merge": "{units, listKeys, append}: lists of JSON pointers, and by JSON pointer the key of a list's items",
}

_fits("a string", value) if is_string(value)

_fits("the name of a package, letters, digits and _", value) if regex.match(`^[A-Za-z_][A-Za-z0-9_]*$`, value)

_fits("a list of one or more {group, kind, sections, role, virtual}", value) if {
	is_array(value)
	count(value) > 0
	every target in value {
		is_string(target.kind)
		is_string(object.get(target, "group", ""))
		is_boolean(object.get(target, "sections", false))
		is_boolean(object.get(target, "virtual", false))
		object.get(target, "role", "Backend") in {"Backend", "Frontend"}
	}
}

_fits("a list of one or more kinds", value) if {
	is_array(value)
	count(value) > 0
	every kind in value {
		is_string(kind)
	}
}

_fits("a list of one or more controller names", value) if {
	is_array(value)
	count(value) > 0
	every name in value {
		is_string(name)
	}
}

_fits("a list of one or more {path, strategy, strategyPath, without}, paths as JSON pointers", value) if {
	is_array(value)
	count(value) > 0
	every place in value {
		startswith(place.path, "/")
		startswith(object.get(place, "strategyPath", "/"), "/")
		is_array(object.get(place, "without", []))
		_known(object.get(place, "strategy", "None"))
	}
}

_fits("an object of strategies by name, each a strategy or {strategy, merge}", value) if {
	is_object(value)
	every meaning in value {
		_is_meaning(meaning)
	}
}

_fits("{units, listKeys, append}: lists of JSON pointers, and by JSON pointer the key of a list's items", value) if {
	_is_merge(value)
}

_is_meaning(meaning) if _known(meaning)

_is_meaning(meaning) if {
	_known(meaning.strategy)
	_is_merge(object.get(meaning, "merge", {}))
}

_is_merge(value) if {
	is_object(value)
	every field in ["units", "append"] {
		is_array(object.get(value, field, []))
		every pointer in object.get(value, field, []) {
			regex.match(`^(/([^~/]|~[01])*)+$`, pointer)
		}
	}
	is_object(object.get(value, "listKeys", {}))
	every pointer, field in object.get(value, "listKeys", {}) {
		regex.match(`^(/([^~/]|~[01])*)+$`, pointer)
		is_string(field)
	}
}

_known(strategy) if merge.strategies[strategy]

_known(strategy) if strategy in {"Atomic", "Patch"}
