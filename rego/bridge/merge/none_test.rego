package bridge.merge_test

import data.bridge.merge

# C2
test_the_one_at_the_section_wins_there_under_none if {
	merge.step("None", _established, _challenger) == _challenger
}
