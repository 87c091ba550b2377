package bridge.status_test

import data.bridge.status
import data.bridge.testing

_tally(outcome, by, number, examples) := {"ancestor": "", "outcome": outcome, "by": by, "count": number, "examples": examples}

_programmed(tallies) := condition if {
	condition := status.programmed(_warm, tallies) with input as testing.changed([])
}

_everywhere := _tally("Programmed", [], 2, ["a", "b"])

_nowhere := _tally("Overridden", ["shop/x (Atomic overrides)"], 1, ["c"])

_partly := _tally("PartiallyProgrammed", ["shop/x (Patch defaults)"], 5, ["d", "e", "f"])

_failed := _tally("Failed", ["513 policies meet here"], 1, ["g"])

# O4
test_the_outcomes_of_all_paths_make_one_condition if {
	conditions := [[condition.status, condition.reason, condition.message] |
		some tallies in [
			[_everywhere],
			[_nowhere],
			[_partly],
			[_everywhere, _nowhere],
			[_nowhere, _partly],
			[_failed],
			[_failed, _nowhere],
			[_failed, _everywhere],
			[],
		]
		condition := _programmed(tallies)
	]
	everywhere := "Programmed on 2 scopes: a; b"
	nowhere := "Overridden on 1 scope by shop/x (Atomic overrides): c"
	partly := "Partially overridden on 5 scopes by shop/x (Patch defaults): d; e; f and 2 more"
	failed := "Not computed on 1 scope (513 policies meet here): g"
	conditions == [
		["True", "Programmed", everywhere],
		["False", "Overridden", nowhere],
		["True", "PartiallyProgrammed", partly],
		["True", "PartiallyProgrammed", concat(". ", [everywhere, nowhere])],
		["True", "PartiallyProgrammed", concat(". ", [partly, nowhere])],
		["False", "Failed", failed],
		["False", "Failed", concat(". ", [nowhere, failed])],
		["True", "PartiallyProgrammed", concat(". ", [everywhere, failed])],
		["False", "NoScope", "Policy reaches nothing: there is no rule at or below its targets"],
	]
}

# S1
test_tallies_of_several_ancestors_make_one_sentence if {
	other := object.union(_tally("Programmed", [], 3, ["b", "c", "d"]), {"ancestor": "x"})
	_programmed([_everywhere, other]).message == "Programmed on 5 scopes: a; b; c and 2 more"
}

# S1
test_a_message_gives_eight_explanations_and_counts_the_rest if {
	tallies := [_tally("Overridden", [sprintf("shop/p%02d (None)", [n])], 1, ["a"]) | some n in numbers.range(1, 10)]
	sentences := [sprintf("Overridden on 1 scope by shop/p%02d (None): a", [n]) | some n in numbers.range(1, 8)]
	_programmed(tallies).message == concat(". ", array.concat(sentences, ["And 2 more explanations"]))
}

# S1
test_a_sentence_names_five_policies_and_counts_the_rest if {
	by := ["a", "b", "c", "d", "e", "f", "g"]
	_programmed([_tally("Overridden", by, 1, ["s"])]).message == "Overridden on 1 scope by a, b, c, d, e and 2 more: s"
}

# S1
test_a_message_fits_into_a_condition if {
	long := concat("", [letter | some _ in numbers.range(1, 32769); letter := "x"])
	fitted := status.fitted(long)
	count(fitted) == 32768
	endswith(fitted, "x…")
	status.fitted("short") == "short"
}
