package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `watch_results`: for `scopes` (`{policyKind: [targets]}`, as `dependents` returns them) the result of `effective` at
#   each that is one of the targets `watched` or below it: `[{target, policyKind, paths, watched}]`, with an empty list
#   of paths if no policy is left. Deleted targets are absent.
# entrypoint: true
watch_results := queries.input_problem if {
	queries.input_problem
} else := queries.scopes_problem if {
	queries.scopes_problem
} else := queries.keys_problem("watched") if {
	queries.keys_problem("watched")
} else := [entry |
	some kind, targets in input.scopes
	kinds.get(kind)
	some scope in targets
	hierarchy.canonical_key(scope) == scope
	scopes.acts_at(kind, scope)
	nodes := {watched |
		some object_key in scopes.objects_above(scope)
		some watched in _watched_by_object[object_key]
		scopes.is_within(kind, hierarchy.canonical_key(watched), scope)
	}
	count(nodes) > 0
	entry := {
		"target": scope,
		"policyKind": kind,
		"paths": engine.policies_of(kind, scope, object.get(input, "sourceNamespace", "")),
		"watched": sort(nodes),
	}
]

_watched_by_object[keys.parse(watched).object] contains watched if some watched in input.watched
