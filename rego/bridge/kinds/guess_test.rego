package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_guesses(schema, label) := {guess.field: guess.value | some guess in found} if {
	changes := {"upsert": [_crd(label, schema)]}
	found := kinds.guessed("acme.io/RatePolicy") with input as {"guessedType": "acme.io/RatePolicy", "changes": changes}
	every guess in found {
		guess.why != ""
	}
}

test_a_plain_schema_is_guessed_to_be_direct if {
	found := _guesses(_plain, "")
	[found.class, found.sameLevel, found.crossNamespace, found.statusShape] == ["Direct", "Conflict", "Forbidden", "Conditions"]
	not found.effectiveTarget
	{target.sections | some target in found.targets} == {false}
}

test_wrappers_are_guessed_to_be_of_an_inherited_kind if {
	wrapped := _schema({"targetRef": {"type": "object", "properties": _ref_fields}, "defaults": {"type": "object"}}, {"ancestors": {"type": "array"}})
	found := _guesses(wrapped, "")
	[found.class, found.effectiveTarget, found.statusShape] == ["Inherited", "Rule", "Ancestors"]
	{place.path | some place in found.specPaths} == {"/spec/defaults", "/spec"}
}

test_a_label_says_the_class if {
	_guesses(_plain, "Inherited").class == "Inherited"
}

test_what_is_guessed_is_active if {
	every label in ["", "direct", "inherited"] {
		spec := object.union({"group": "acme.io", "kind": "RatePolicy"}, _guesses(_plain, label))
		not kinds.problem(spec)
	}
	testing.world
}
