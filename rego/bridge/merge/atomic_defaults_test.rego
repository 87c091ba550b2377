package bridge.merge_test

import data.bridge.merge

test_challenger_wins_whole_under_atomic_defaults if {
	merge.step("AtomicDefaults", _established, _challenger) == _challenger
}
