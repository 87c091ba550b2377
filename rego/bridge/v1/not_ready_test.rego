package bridge.v1_test

import data.bridge.v1

_not_ready := {"error": {"code": "NotReady", "message": "the initial sync of OPA is incomplete"}}

_answers_about_all_objects := [
	v1.affected, v1.audit_keys, v1.constraints, v1.coverable, v1.dependents, v1.effective, v1.explain, v1.impact, v1.neighbors,
	v1.outcomes, v1.problems, v1.request, v1.scopes, v1.search, v1.status, v1.tree, v1.uncovered, v1.violations, v1.watch_results,
]

_answers_during_the_first_sync := [v1.outdated, v1.picture, v1.picture_roots, v1.view, v1.view_keys]

test_queries_fail_until_opa_has_every_object if {
	every state in [{}, {"filled": false, "complete": false}] {
		answers := _answers_about_all_objects with input as {"words": ["a"]}
			with data.bridge_settings.replicated as true
			with data.bridge_state as state
		every answer in answers {
			answer == _not_ready
		}
	}
}

test_queries_of_the_picture_and_of_views_answer_during_the_first_sync if {
	answers := _answers_during_the_first_sync with input as {"keys": [], "wanted": {}, "objects": [], "roots": [], "types": []}
		with data.bridge_settings.replicated as true
		with data.bridge_state as {"filled": false, "complete": false}
	every answer in answers {
		answer != _not_ready
	}
}

test_queries_of_the_picture_and_of_views_fail_in_an_opa_that_was_emptied if {
	answers := _answers_during_the_first_sync with input as {"keys": [], "wanted": {}, "objects": [], "roots": [], "types": []}
		with data.bridge_settings.replicated as true
	every answer in answers {
		answer == _not_ready
	}
}

test_queries_answer_while_an_opa_with_every_object_is_synced_again if {
	answers := array.concat(_answers_about_all_objects, _answers_during_the_first_sync) with input as {"words": ["a"]}
		with data.bridge_settings.replicated as true
		with data.bridge_state as {"filled": false, "complete": true}
	every answer in answers {
		answer != _not_ready
	}
}

test_queries_answer_where_no_bridge_writes_objects if {
	answers := array.concat(_answers_about_all_objects, _answers_during_the_first_sync) with input as {"words": ["a"]}
	every answer in answers {
		answer != _not_ready
	}
}
