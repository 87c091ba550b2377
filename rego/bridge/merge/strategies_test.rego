package bridge.merge_test

import data.bridge.merge

test_every_strategy_has_the_name_of_gep_713 if {
	merge.strategies == {
		"None": "None",
		"AtomicDefaults": "Atomic defaults",
		"AtomicOverrides": "Atomic overrides",
		"PatchDefaults": "Patch defaults",
		"PatchOverrides": "Patch overrides",
		"Custom": "Custom",
		"Additive": "Additive",
	}
}
