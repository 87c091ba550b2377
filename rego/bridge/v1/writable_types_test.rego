package bridge.v1_test

import data.bridge.testing
import data.bridge.v1

test_written_types_are_reported_for_what_is_replicated if {
	v1.writable_types == {"status": ["core/Service", "example.com/TimeoutPolicy"], "annotations": []} with input as {
		"replicated": ["core/Service"],
		"changes": {"upsert": [testing.policykind(testing.timeout_kind)]},
	}
}

test_what_is_replicated_has_to_be_a_list if {
	v1.writable_types.error.code == "InvalidInput" with input as {"replicated": "core/Service"}
}
