package bridge.merge_test

import data.bridge.merge

test_challenger_wins_by_field_under_patch_defaults if {
	merge.step("PatchDefaults", _established, _challenger) == {
		"spec": {"a": 1, "b": {"c": 2, "d": 2}},
		"origins": {"/a": "established", "/b/c": "challenger", "/b/d": "challenger"},
	}
}
