package bridge.v1_test

import data.bridge.v1

_held_service(version) := {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "resourceVersion": version}}

_held_objects := {"core": {
	"Service": {"shop": {"a": _held_service("1"), "b": _held_service("2")}, "infra": {"c": {"metadata": {"name": "c"}}}},
	"Namespace": {"-": {"shop": _held_service("3")}},
}}

test_held_gives_the_version_of_every_object if {
	v1.resource_versions == {"core": {
		"Service": {"shop": {"a": "1", "b": "2"}, "infra": {"c": ""}},
		"Namespace": {"-": {"shop": "3"}},
	}} with data.objects as _held_objects
}

test_no_versions_are_stored_before_an_initial_sync if {
	v1.resource_versions == {} with data.objects as {}
}

test_linked_counts_the_entries_of_each_part if {
	v1.index_sizes == {"parents": 3, "children": 0, "own": 2, "extended": 3, "referrers": 3, "served": 2} with data.index as {
		"parents": {"g/X/n": {"x": {"g/A/n": {"a": [], "b": false}}, "y": {"g/A/n": {"a": []}}}},
		"children": {},
		"own": {"parents": {"g/X/n": {"x": []}}, "children": {"g/X/n": {"x": []}}},
		"extended": {"x": {"a": [], "b": false}, "y": {"a": []}},
		"served": {"x": {"g/A/m": {"*": {"/": {"a": true, "b": true}}}}},
		"referrers": {"n": {"g/A/m": {"a": true, "b": true}, "g/B/m": {"a": true}}},
	}
}

test_linked_counts_each_policy_at_a_target_and_by_a_selector if {
	v1.index_sizes == {"attached": 3, "selectors": 2, "limited": 1, "claims": 2} with data.index as {
		"attached": {"example.com/P": {"x": {"p": true, "q": true}, "y": {"p": true}}},
		"selectors": {"shop": {"core/Service": {"{}": {"p": true, "q": true}}}},
		"limited": {"example.com/P": {"p": true}},
		"claims": {"g/Gateway/n/a": {"80": {"HTTP/*": {"g/ListenerSet/n/s": true, "g/ListenerSet/n/t": true}}}},
	}
}
