package bridge.kinds_test

import data.bridge.kinds
import data.bridge.v1

# The stored sets answer as if every kind was read, and a query that changes a kind does not read them.
test_stored_sets_count_until_a_query_changes_a_kind if {
	stored := {"managed": {"acme.io/StoredPolicy": true}}
	kinds.sets == stored with data.kind_sets as stored
	kinds.sets.managed == {_type: true} with data.kind_sets as stored with input as {"changes": {"upsert": [_managed_kind]}}
}

test_the_stored_documents_are_the_kinds_and_their_sets if {
	found := v1.kind_documents with input as {"changes": {"upsert": [_managed_kind]}} with data.bridge_settings.presets as {}
	found.kinds[_type].mode == "Manage"
	found.kind_sets == {"managed": {_type: true}, "presets": {}, "selecting": {}, "virtual": {}}
}

_managed_kind := _rate_kind("rates", 1, {"mode": "Manage", "controllerName": "acme.io/controller"})
