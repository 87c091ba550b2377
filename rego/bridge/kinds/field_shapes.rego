package bridge.kinds

import data.bridge.merge

# The definition of each form of a PolicyKind's field, by its text in messages.

# METADATA
# description: A value of a PolicyKind's field has this form; the form is the text in messages.
fits("a string", value) if is_string(value)

fits("the name of a package, letters, digits and _", value) if regex.match(`^[A-Za-z_][A-Za-z0-9_]*$`, value)

fits("a list of one or more {group, kind, sections, role, virtual, protocols}", value) if {
	is_array(value)
	count(value) > 0
	every target in value {
		is_string(target.kind)
		is_string(object.get(target, "group", ""))
		is_boolean(object.get(target, "sections", false))
		is_boolean(object.get(target, "virtual", false))
		_are_protocols(object.get(target, "protocols", ["TCP"]))
		object.get(target, "role", "Backend") in {"Backend", "Frontend"}
	}
}

fits("the name of a namespace", value) if regex.match(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, value)

fits("a list of one or more {path, by, targets, namespaces, controllers, exceptClasses}, paths as JSON pointers", value) if {
	is_array(value)
	count(value) > 0
	every entry in value {
		startswith(entry.path, "/")
		startswith(object.get(entry, "namespaces", "/"), "/")
		object.get(entry, "by", "Objects") in {"Objects", "Workloads"}
		every names in [object.get(entry, "controllers", ["-"]), object.get(entry, "exceptClasses", ["-"])] {
			is_array(names)
			every name in names {
				is_string(name)
			}
		}
		is_array(entry.targets)
		count(entry.targets) > 0
		every target in entry.targets {
			is_string(target.kind)
			is_string(object.get(target, "group", ""))
		}
	}
}

fits("a list of one or more kinds", value) if {
	is_array(value)
	count(value) > 0
	every kind in value {
		is_string(kind)
	}
}

fits("a list of one or more of GatewayClass, Gateway, ListenerSet, Listener, Frontend, Namespace, Route, Rule, Backend", value) if {
	is_array(value)
	count(value) > 0
	every level in value {
		level in {"GatewayClass", "Gateway", "ListenerSet", "Listener", "Frontend", "Namespace", "Route", "Rule", "Backend"}
	}
}

fits("a list of one or more controller names", value) if {
	is_array(value)
	count(value) > 0
	every name in value {
		is_string(name)
	}
}

fits("a list of one or more {path, strategy, strategyPath, without}, paths as JSON pointers", value) if {
	is_array(value)
	count(value) > 0
	every place in value {
		startswith(place.path, "/")
		startswith(object.get(place, "strategyPath", "/"), "/")
		is_array(object.get(place, "without", []))
		_known(object.get(place, "strategy", "None"))
	}
}

fits("a list of one or more {path, values, default, descending}, paths as JSON pointers", value) if {
	is_array(value)
	count(value) > 0
	every entry in value {
		startswith(entry.path, "/")
		is_array(object.get(entry, "values", []))
		is_boolean(object.get(entry, "descending", false))
	}
}

fits("an object of strategies by name, each a strategy or {strategy, merge}", value) if {
	is_object(value)
	every meaning in value {
		_is_meaning(meaning)
	}
}

fits("{units, listKeys, append}: lists of JSON pointers, and by JSON pointer the key of a list's items", value) if {
	_is_merge(value)
}

_are_protocols(value) if {
	is_array(value)
	count(value) > 0
	every protocol in value {
		protocol in {"TCP", "UDP", "SCTP"}
	}
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
