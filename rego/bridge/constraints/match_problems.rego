package bridge.constraints

# METADATA
# description: All problems of a match at a place of a Constraint.
match_problems(place, match) := [sprintf("%s must be an object", [place])] if not is_object(match)

match_problems(place, match) := array.flatten([
	[sprintf("%s.%s is not a field of a match: it has %s", [place, field, concat(", ", sort(match_fields))]) |
		some field in sort(object.keys(match) - match_fields)
	],
	[sprintf("%s.kinds must be a list of {apiGroups, kinds}, lists of names", [place]) |
		not _are_kinds(object.get(match, "kinds", []))
	],
	[sprintf("%s.scope must be one of *, Cluster, Namespaced", [place]) |
		not object.get(match, "scope", "*") in {"*", "Cluster", "Namespaced"}
	],
	[sprintf("%s.%s must be a list of names, which may begin or end with *", [place, field]) |
		some field in ["namespaces", "excludedNamespaces"]
		not _are_globs(object.get(match, field, []))
	],
	[sprintf("%s.%s: %s", [place, field, message]) |
		some field in ["labelSelector", "namespaceSelector"]
		message := _selector_problem(match[field])
	],
	[sprintf("%s.name must be a name, which may begin or end with *", [place]) |
		not _is_glob(object.get(match, "name", ""))
	],
]) if {
	is_object(match)
}

# METADATA
# description: Every field of a match, as in the CRD of Constraints.
match_fields := {"kinds", "scope", "namespaces", "excludedNamespaces", "labelSelector", "namespaceSelector", "name"}

_are_kinds(kinds) if {
	is_array(kinds)
	every entry in kinds {
		is_object(entry)
		object.keys(entry) - {"apiGroups", "kinds"} == set()
		_are_names(object.get(entry, "apiGroups", []))
		_are_names(object.get(entry, "kinds", []))
	}
}

_are_names(names) if {
	is_array(names)
	every name in names {
		is_string(name)
	}
}

_are_globs(patterns) if {
	is_array(patterns)
	every pattern in patterns {
		_is_glob(pattern)
		pattern != ""
	}
}

_is_glob(pattern) if {
	is_string(pattern)
	not contains(trim_prefix(trim_suffix(pattern, "*"), "*"), "*")
}

# A selector without either field would select everything; usually its labels are one level too high.
_selector_problem(selector) := "must be an object of matchLabels and matchExpressions, and have one of them" if {
	not _is_selector(selector)
} else := "matchLabels must be a map of strings" if {
	not _are_labels(object.get(selector, "matchLabels", {}))
} else := "matchExpressions must be a list of {key, operator, values}; operators are In, NotIn, Exists, DoesNotExist" if {
	not _are_expressions(object.get(selector, "matchExpressions", []))
}

_is_selector(selector) if {
	is_object(selector)
	count(selector) > 0
	object.keys(selector) - {"matchLabels", "matchExpressions"} == set()
}

_are_labels(labels) if {
	is_object(labels)
	every value in labels {
		is_string(value)
	}
}

_are_expressions(expressions) if {
	is_array(expressions)
	every expression in expressions {
		is_string(expression.key)
		_is_operation(expression)
	}
}

# The API server's validation: values for operators that compare, none for the others.
_is_operation(expression) if {
	expression.operator in {"Exists", "DoesNotExist"}
	count(object.get(expression, "values", [])) == 0
}

_is_operation(expression) if {
	expression.operator in {"In", "NotIn"}
	_are_names(expression.values)
	count(expression.values) > 0
}
