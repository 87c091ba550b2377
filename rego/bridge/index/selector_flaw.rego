package bridge.index

# METADATA
# description: |
#   Why an entry of spec.targetSelectors is not a valid selector, with its place in the policy; undefined if it is
#   valid. It has group, kind, matchLabels and matchExpressions as in a LabelSelector of Kubernetes, and selects whole
#   objects of the policy's own namespace: it has neither sectionName nor namespace (semantics T1, T2).
selector_flaw(place, raw) := sprintf("%s is not an object", [place]) if {
	not is_object(raw)
} else := ref_flaw(place, object.union(raw, {"name": "-"})) if {
	true
} else := sprintf("%s.%s: a selector has only %s", [place, unknown[0], concat(", ", _selector_fields)]) if {
	unknown := sort([field | some field, value in raw; value != null; not field in _selector_fields])
	count(unknown) > 0
} else := sprintf("%s.matchLabels must be a map of strings", [place]) if {
	not _is_labels(raw)
} else := sprintf("%s.matchExpressions must be a list of {key, operator, values}", [place]) if {
	not _is_expressions(raw)
}

# METADATA
# description: |
#   A value of a policy as a LabelSelector of Kubernetes, `{matchLabels, matchExpressions}`: one that is a LabelSelector, or labels alone.
#   Undefined for another.
label_selector(value) := {
	"matchLabels": object.get(fields, "matchLabels", {}),
	"matchExpressions": object.get(fields, "matchExpressions", []),
} if {
	is_object(value)
	fields := {field: inner | some field, inner in value; inner != null}
	object.keys(value) - {"matchLabels", "matchExpressions"} == set()
	_is_labels(value)
	_is_expressions(value)
} else := {"matchLabels": value, "matchExpressions": []} if {
	is_object(value)
	every text in value {
		is_string(text)
	}
}

_selector_fields := ["group", "kind", "matchLabels", "matchExpressions"]

_is_labels(raw) if object.get(raw, "matchLabels", null) == null

_is_labels(raw) if {
	is_object(raw.matchLabels)
	every value in raw.matchLabels {
		is_string(value)
	}
}

_is_expressions(raw) if object.get(raw, "matchExpressions", null) == null

_is_expressions(raw) if {
	is_array(raw.matchExpressions)
	every expression in raw.matchExpressions {
		is_string(expression.key)
		_is_operation(expression)
	}
}

_is_operation(expression) if expression.operator in {"Exists", "DoesNotExist"}

_is_operation(expression) if {
	expression.operator in {"In", "NotIn"}
	is_array(expression.values)
	count(expression.values) > 0
}
