package bridge.kinds

import data.bridge.lib.likeness

# METADATA
# description: |
#   The errors of a PolicyKind itself, independent of other layers: wrong forms and unknown fields. An API server
#   rejects these by the CRD's schema; for a folder of manifests this is the only check.
own_problems(spec) := array.concat(shape_problems(spec), unknown_fields(spec))

# METADATA
# description: Fields that a PolicyKind does not have, each as a message.
unknown_fields(spec) := array.concat(
	[sprintf("%q is not a field of a PolicyKind%s", [field, likeness.hint(field, fields)]) | some field in sort(object.keys(spec) - fields)],
	[sprintf("%s[%v]: %q is not a field of its entries%s", [list, place, field, likeness.hint(field, known)]) |
		some list, known in entry_fields
		some place, entry in spec[list]
		some field in sort(object.keys(entry) - known)
	],
) if {
	is_object(spec)
} else := []

# METADATA
# description: Every field of the entries of a PolicyKind's lists.
entry_fields := {
	"targets": {"group", "kind", "sections", "role", "virtual", "protocols"},
	"specPaths": {"path", "strategy", "strategyPath", "without"},
	"order": {"path", "values", "default", "descending"},
	"selectors": {"path", "by", "targets", "namespaces", "controllers", "exceptClasses"},
}

# METADATA
# description: Every field of a PolicyKind's spec, as in its CRD.
fields := {
	"group",
	"kind",
	"mode",
	"controllerName",
	"controllers",
	"class",
	"targets",
	"selectors",
	"rootNamespace",
	"effectiveTarget",
	"effectiveKinds",
	"crossNamespace",
	"specPaths",
	"strategies",
	"defaultStrategy",
	"custom",
	"merge",
	"order",
	"sameLevel",
	"strategyFrom",
	"mergesWith",
	"parentLevels",
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
#   Fields of a policy kind's description with a wrong type or form, in a stable order. Other problems are checked only
#   if there are none of these.
shape_problems(spec) := ["spec is not an object"] if not is_object(spec)

shape_problems(spec) := array.concat(
	[sprintf("%s is missing or not a valid name", [field]) | some field in ["group", "kind"]; not _name(spec, field)],
	[sprintf("%s%s must be %s", [_first_wrong(field, shape, value), field, shape]) |
		some field, shape in _shapes
		value := spec[field]
		not fits(shape, value)
	],
) if {
	is_object(spec)
}

# The first invalid entry of a list.
_first_wrong(field, shape, value) := sprintf("%s[%d]: %s is not valid: ", [field, wrong[0], substring(json.marshal(value[wrong[0]]), 0, 200)]) if {
	startswith(shape, "a list of")
	is_array(value)
	wrong := [place | some place, entry in value; not fits(shape, [entry])]
	count(wrong) > 0
} else := ""

# The core group is "" (or core), and may be omitted.
_name(spec, "group") if regex.match(`^[a-z0-9.-]*$`, object.get(spec, "group", ""))

_name(spec, "kind") if regex.match(`^[A-Za-z][A-Za-z0-9]*$`, spec.kind)

_shapes := {
	"controllerName": "a string",
	"custom": "the name of a package, letters, digits and _",
	"targets": "a list of one or more {group, kind, sections, role, virtual, protocols}",
	"controllers": "a list of one or more controller names",
	"selectors": "a list of one or more {path, by, targets, namespaces, controllers, exceptClasses}, paths as JSON pointers",
	"rootNamespace": "the name of a namespace",
	"effectiveKinds": "a list of one or more kinds",
	"gatewayControllers": "a list of one or more controller names",
	"parentLevels": "a list of one or more of GatewayClass, Gateway, ListenerSet, Listener, Frontend, Namespace, Route, Rule, Backend",
	"specPaths": "a list of one or more {path, strategy, strategyPath, without}, paths as JSON pointers",
	"order": "a list of one or more {path, values, default, descending}, paths as JSON pointers",
	"strategies": "an object of strategies by name, each a strategy or {strategy, merge}",
	"merge": "{units, listKeys, append}: lists of JSON pointers, and by JSON pointer the key of a list's items",
}
