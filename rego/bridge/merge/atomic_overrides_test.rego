package bridge.merge_test

import data.bridge.merge

test_established_wins_whole_under_atomic_overrides if {
	merge.step("AtomicOverrides", _established, _challenger) == _established
}
