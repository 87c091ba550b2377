package bridge.decision_log_test

import data.bridge.decision_log

test_masks_of_config_maps_and_files_apply if {
	masks := decision_log.mask with data.bridge.system.log as {"mask": ["/input/a"]}
		with data.system.log as {"mask": ["/input/b"]}
	masks == {"/input/a", "/input/b"}
}

test_nothing_is_masked_without_a_mask if {
	decision_log.mask == set()
	not decision_log.drop
}

test_either_drops_a_decision if {
	decision_log.drop with data.bridge.system.log as {"drop": true}
	decision_log.drop with data.system.log as {"drop": true}
	not decision_log.drop with data.bridge.system.log as {"drop": false}
}
