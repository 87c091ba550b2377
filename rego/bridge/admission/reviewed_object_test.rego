package bridge.admission_test

import data.bridge.admission
import data.bridge.testing

_constraint_of(name, match) := {
	"apiVersion": "policybridge.io/v1alpha1",
	"kind": "Constraint",
	"metadata": {"name": name},
	"spec": {"policy": "testing.limits", "match": match},
}

_spoken_of(objects) := found if {
	found := admission.review_scope with data.objects as testing.stored(objects)
		with data.kinds as {"example.com/ColorPolicy": {}}
		with input as {}
}

_always := ["example.com/ColorPolicy", "policybridge.io/Constraint", "policybridge.io/PolicyKind"]

test_policies_and_what_describes_them_are_spoken_of if {
	found := _spoken_of([])
	not found.any
	found.types == _always
}

test_what_a_constraint_names_is_spoken_of if {
	match := {"kinds": [{"apiGroups": ["", "apps"], "kinds": ["Pod", "Deployment"]}]}
	found := _spoken_of([_constraint_of("few", match)])
	not found.any
	found.types == sort(array.concat(_always, ["core/Pod", "core/Deployment", "apps/Pod", "apps/Deployment"]))
}

test_a_constraint_that_leaves_groups_or_kinds_open_speaks_of_any if {
	every match in [
		{},
		{"kinds": []},
		{"namespaces": ["shop"]},
		{"kinds": [{"apiGroups": ["apps"]}]},
		{"kinds": [{"kinds": ["Pod"]}]},
		{"kinds": [{"apiGroups": ["*"], "kinds": ["Pod"]}]},
		{"kinds": [{"apiGroups": [""], "kinds": ["Pod", "*"]}]},
		{"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}, {"apiGroups": [""], "kinds": []}]},
	] {
		_spoken_of([_constraint_of("open", match)]).any
	}
}

test_a_constraint_that_is_invalid_speaks_of_nothing if {
	found := _spoken_of([_constraint_of("odd", {"kinds": 3})])
	not found.any
	found.types == _always
}

test_the_review_scope_has_its_dependencies if {
	_spoken_of([]).depends_on == [
		"apiextensions.k8s.io/CustomResourceDefinition",
		"policybridge.io/Constraint",
		"policybridge.io/PolicyKind",
	]
}
