package bridge.v1_test

import data.bridge.v1

_not_ready := {"error": {"code": "NotReady", "message": "the initial sync of OPA is incomplete"}}

_answers_for_people := [v1.effective, v1.explain, v1.impact, v1.problems, v1.request, v1.search, v1.tree]

test_queries_of_people_fail_until_opa_has_every_object if {
	every state in [{}, {"filled": false, "complete": false}] {
		answers := _answers_for_people with input as {"words": ["a"]}
			with data.bridge_settings.replicated as true
			with data.bridge_state as state
		every answer in answers {
			answer == _not_ready
		}
	}
}

test_queries_answer_while_an_opa_with_every_object_is_synced_again if {
	answers := _answers_for_people with input as {"words": ["a"]}
		with data.bridge_settings.replicated as true
		with data.bridge_state as {"filled": false, "complete": true}
	every answer in answers {
		answer != _not_ready
	}
}

test_queries_answer_where_no_bridge_writes_objects if {
	answers := _answers_for_people with input as {"words": ["a"]}
	every answer in answers {
		answer != _not_ready
	}
}
