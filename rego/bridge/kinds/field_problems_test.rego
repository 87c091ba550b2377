package bridge.kinds_test

import data.bridge.kinds

test_a_description_that_is_not_an_object_is_reported if {
	kinds.problems(null) == ["spec is not an object"]
}

test_a_description_names_its_kind if {
	every kind in [null, "", 3, "Rate Policy", "a/b"] {
		kinds.problems({"group": "acme.io", "kind": kind}) == ["kind is missing or not a valid name"]
	}
	kinds.problems({"group": ["acme.io"]}) == ["group is missing or not a valid name", "kind is missing or not a valid name"]
}

test_a_field_that_has_another_type_is_reported if {
	targets := "targets must be a list of one or more {group, kind, sections, role, virtual, protocols}"
	places := "specPaths must be a list of one or more {path, strategy, strategyPath, without}, paths as JSON pointers"
	strategies := "strategies must be an object of strategies by name, each a strategy or {strategy, merge}"
	merges := concat("", [
		"merge must be {units, listKeys, append}: lists of JSON pointers, ",
		"and by JSON pointer the key of a list's items",
	])
	every row in [
		[{"targets": null}, targets],
		[{"targets": [{"group": "acme.io"}]}, concat("", [`targets[0]: {"group":"acme.io"} is not valid: `, targets])],
		[
			{"targets": [{"kind": "Y"}, {"kind": "X", "sections": "yes"}]},
			concat("", [`targets[1]: {"kind":"X","sections":"yes"} is not valid: `, targets]),
		],
		[{"specPaths": []}, places],
		[{"specPaths": ["/spec"]}, concat("", [`specPaths[0]: "/spec" is not valid: `, places])],
		[{"specPaths": [{"path": "spec"}]}, concat("", [`specPaths[0]: {"path":"spec"} is not valid: `, places])],
		[
			{"specPaths": [{"path": "/spec", "strategy": "Foo"}]},
			concat("", [`specPaths[0]: {"path":"/spec","strategy":"Foo"} is not valid: `, places]),
		],
		[{"strategies": ["Atomic"]}, strategies],
		[{"strategies": {"a": "Foo"}}, strategies],
		[{"strategies": {"a": {"strategy": "Patch", "merge": {"units": "/a"}}}}, strategies],
		[{"strategies": {"a": {"merge": {}}}}, strategies],
		[{"merge": null}, merges],
		[{"merge": {"units": ["a"]}}, merges],
		[{"merge": {"append": "/a"}}, merges],
		[{"merge": {"listKeys": {"/a": 3}}}, merges],
		[{"merge": {"listKeys": ["/a"]}}, merges],
		[{"effectiveKinds": "HTTPRoute"}, "effectiveKinds must be a list of one or more kinds"],
		[{"effectiveKinds": [3]}, "effectiveKinds[0]: 3 is not valid: effectiveKinds must be a list of one or more kinds"],
		[{"effectiveKinds": []}, "effectiveKinds must be a list of one or more kinds"],
		[{"controllers": []}, "controllers must be a list of one or more controller names"],
		[
			{"parentLevels": ["Rules"]},
			`parentLevels[0]: "Rules" is not valid: parentLevels must be a list of one or more of GatewayClass, Gateway, ListenerSet, Listener, Frontend, Namespace, Route, Rule, Backend`,
		],
		[{"gatewayControllers": []}, "gatewayControllers must be a list of one or more controller names"],
		[{"targets": []}, "targets must be a list of one or more {group, kind, sections, role, virtual, protocols}"],
		[{"custom": "acme.rates"}, "custom must be the name of a package, letters, digits and _"],
		[{"custom": 3}, "custom must be the name of a package, letters, digits and _"],
		[{"controllerName": 3}, "controllerName must be a string"],
	] {
		_with(row[0]) == [row[1]]
	}
}

test_all_fields_of_their_shape_are_no_problem if {
	_with({
		"targets": [{"group": "", "kind": "Service", "sections": true}],
		"effectiveKinds": ["HTTPRoute"],
		"controllerName": "acme.io/rates",
		"specPaths": [{"path": "/spec/over", "strategy": "PatchOverrides", "strategyPath": "/spec/how", "without": ["x"]}],
		"strategies": {"merge": "Patch", "top": {"strategy": "AtomicOverrides", "merge": {"units": ["/a"]}}},
		"merge": {"units": ["/a/*"], "listKeys": {"/b": "id"}, "append": ["/c~1d"]},
	}) == []
}
