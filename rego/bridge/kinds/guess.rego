package bridge.kinds

# METADATA
# description: |
#   The probable fields of a PolicyKind for a type, guessed from its CRD, in the usual order: a list of `{field, value,
#   why}` with the reason of each guess. Values that a schema does not show are the most common ones. Undefined if no
#   CRD defines the type. `input.guessedType` names the type.
guessed(type) := array.flatten([
	_guessed_class(type),
	_guessed_targets(type),
	_guessed_level(type),
	_guess("crossNamespace", object.get(shape, "crossNamespace", "Forbidden"), _reasons.crossNamespace[_says(shape, "crossNamespace")]),
	[_guess(field, value, _reasons.merging) | _guessed_classname(type) == "Inherited"; some field, value in schema_form(type)],
	_guessed_same_level(type),
	_guess("statusShape", object.get(shape, "statusShape", "Conditions"), _reasons.statusShape[_says(shape, "statusShape")]),
]) if {
	crds[type].version != ""
	shape := schema_shape(type)
}

_guess(field, value, why) := {"field": field, "value": value, "why": why}

_says(shape, field) if {
	shape[field]
} else := false

_reasons := {
	"crossNamespace": {
		true: "a target ref has the field namespace, so another namespace must grant it",
		false: "a target ref has no field namespace",
	},
	"statusShape": {
		true: "the fields of status in the schema",
		false: "the schema has neither status.ancestors nor status.conditions",
	},
	"merging": "the schema has wrappers, or a field by which a policy chooses its strategy",
	"older": "no field of the schema merges policies: only the older of two for one target is accepted",
}

_guessed_classname(type) := labelled_class(type) if {
	true
} else := "Inherited" if {
	has_merge_form(type)
} else := "Direct"

_guessed_class(type) := _guess("class", labelled_class(type), "the label of the CRD") if {
	labelled_class(type)
} else := _guess("class", "Inherited", "the schema has wrappers, a choice of strategy, or several target kinds") if {
	has_merge_form(type)
} else := _guess("class", "Direct", "the schema has no wrappers, no choice of strategy, and does not list several target kinds; set Inherited if a policy also acts below its target")

_guessed_targets(type) := [_guess("targets", targets, "the kinds that the schema lists for a target ref")] if {
	targets := schema_shape(type).targets
} else := [_guess("targets", [gateway, route], "the schema lists no kinds (validation rules are not read): these are common ones")] if {
	sections := object.get(schema_shape(type), "targetSections", true)
	gateway := {"group": "gateway.networking.k8s.io", "kind": "Gateway", "sections": sections}
	route := {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "sections": sections}
}

_guessed_level(type) := [_guess("effectiveTarget", assumed_level(type), "a schema has no level: Backend if a listed kind is not Gateway API's, otherwise Rule")] if {
	_guessed_classname(type) == "Inherited"
} else := []

_guessed_same_level(type) := [_guess("sameLevel", "Conflict", _reasons.older)] if {
	_guessed_classname(type) == "Direct"
} else := [_guess("sameLevel", "Conflict", _reasons.older)] if {
	schema_form(type) == {}
} else := []
