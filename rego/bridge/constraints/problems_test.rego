package bridge.constraints_test

import data.bridge.constraints

test_a_policy_is_all_that_a_constraint_needs if {
	constraints.problems({"policy": "k8s.limits"}) == []
	constraints.problems({"policy": `acme["memory-limits"]`}) == []
}

test_every_field_at_once_makes_sense if {
	constraints.problems({
		"policy": "k8slimits",
		"match": {
			"kinds": [{"apiGroups": ["", "*"], "kinds": ["Pod"]}],
			"scope": "Namespaced",
			"namespaces": ["shop", "a-*", "*-b", "*c*"],
			"excludedNamespaces": ["kube-*"],
			"labelSelector": {"matchLabels": {"a": "b"}},
			"namespaceSelector": {"matchExpressions": [
				{"key": "a", "operator": "In", "values": ["b"]},
				{"key": "a", "operator": "Exists"},
			]},
			"name": "cart-*",
		},
		"enforcementAction": "warn",
		"parameters": {"limit": 1},
		"parameterSelection": [{"match": {}, "parameters": {}}, {"parameters": {"limit": 2}}],
		"parameterSelectionBehavior": "MatchAny",
		"onParameterSelectionNoMatch": "deny",
	}) == []
}

test_what_is_no_spec if {
	constraints.problems(null) == ["spec is not an object"]
}

_wrong(spec, message) if constraints.problems(object.union({"policy": "a"}, spec)) == [message]

test_fields_of_the_spec if {
	constraints.problems({}) == ["spec.policy must be the name of a package, as its Rego declares it"]
	_wrong({"policy": "data a"}, "spec.policy must be the name of a package, as its Rego declares it")
	_wrong({"policy": null}, "spec.policy must be the name of a package, as its Rego declares it")
	_wrong({"params": 1}, "spec.params is not a field of a Constraint")
	_wrong({"enforcementAction": "forbid"}, "spec.enforcementAction must be one of deny, warn, dryrun")
	_wrong({"enforcementAction": null}, "spec.enforcementAction must be one of deny, warn, dryrun")
	_wrong({"parameterSelectionBehavior": "All"}, "spec.parameterSelectionBehavior must be one of MatchFirst, MatchAny")
	_wrong({"parameters": [1]}, "spec.parameters must be an object")
	_wrong({"match": null}, "spec.match must be an object")
	_wrong({"parameterSelection": {}}, "spec.parameterSelection must be a list of {match, parameters}")
}

test_nothing_matches_where_there_is_nothing_to_match if {
	_wrong({"onParameterSelectionNoMatch": "deny"}, "spec.onParameterSelectionNoMatch needs a parameterSelection: without one nothing ever matches")
}

test_entries_of_the_selection if {
	_wrong({"parameterSelection": [1]}, "spec.parameterSelection[0] must be an object of match and parameters")
	_wrong({"parameterSelection": [{"match": {}}]}, "spec.parameterSelection[0].parameters must be an object")
	_wrong(
		{"parameterSelection": [{"parameters": {}, "enforcementAction": "warn"}]},
		"spec.parameterSelection[0].enforcementAction is not a field of an entry: it has match and parameters",
	)
	_wrong(
		{"parameterSelection": [{"parameters": {}}, {"parameters": {}, "match": {"name": 1}}]},
		"spec.parameterSelection[1].match.name must be a name, which may begin or end with *",
	)
}

_wrong_match(match, message) if _wrong({"match": match}, concat("", ["spec.match", message]))

_kinds_form := ".kinds must be a list of {apiGroups, kinds}, lists of names"

_selector_form := ".namespaceSelector: must be an object of matchLabels and matchExpressions, and have one of them"

_expressions_form := ".labelSelector: matchExpressions must be a list of {key, operator, values}; operators are In, NotIn, Exists, DoesNotExist"

test_fields_of_a_match if {
	_wrong_match({"kind": "Pod"}, ".kind is not a field of a match: it has excludedNamespaces, kinds, labelSelector, name, namespaceSelector, namespaces, scope")
	_wrong_match({"kinds": ["Pod"]}, _kinds_form)
	_wrong_match({"kinds": [{"kinds": "Pod"}]}, _kinds_form)
	_wrong_match({"kinds": [{"kind": ["Pod"]}]}, _kinds_form)
	_wrong_match({"scope": "Namespace"}, ".scope must be one of *, Cluster, Namespaced")
	_wrong_match({"namespaces": ["a*b"]}, ".namespaces must be a list of names, which may begin or end with *")
	_wrong_match({"excludedNamespaces": "a"}, ".excludedNamespaces must be a list of names, which may begin or end with *")
}

test_a_selector_that_selects_by_nothing_is_refused if {
	_wrong_match({"namespaceSelector": {}}, _selector_form)
	_wrong_match({"namespaceSelector": {"field.cattle.io/projectId": "special"}}, _selector_form)
	_wrong_match({"namespaceSelector": null}, _selector_form)
}

test_labels_and_expressions_of_a_selector if {
	_wrong_match({"labelSelector": {"matchLabels": {"a": 1}}}, ".labelSelector: matchLabels must be a map of strings")
	every expression in [
		{"key": "a", "operation": "NotIn", "values": ["b"]},
		{"key": "a", "operator": "In"},
		{"key": "a", "operator": "In", "values": []},
		{"key": "a", "operator": "Exists", "values": ["b"]},
		{"operator": "Exists"},
	] {
		_wrong_match({"labelSelector": {"matchExpressions": [expression]}}, _expressions_form)
	}
}
