package bridge.merge_test

import data.bridge.merge

test_established_wins_by_field_under_patch_overrides if {
	merge.step("PatchOverrides", _established, _challenger) == {
		"spec": {"a": 1, "b": {"c": 1, "d": 2}},
		"origins": {"/a": "established", "/b/c": "established", "/b/d": "challenger"},
	}
}
