package bridge.v1

import data.bridge.lookup
import data.bridge.problems as finding
import data.bridge.queries

# METADATA
# description: |
#   `problems`: problems of `objects` (keys; without them of all stored objects) that their authors can fix, `[{subject,
#   about, reason, message}]`. Two results, with and without `changes`, show the problems that a change adds and fixes.
# entrypoint: true
problems := queries.input_problem if {
	queries.input_problem
} else := queries.keys_problem("objects") if {
	input.objects
	queries.keys_problem("objects")
} else := [problem | some [_, problem] in sort({[key, problem] | some key in _looked_at; some problem in finding.of(key)})]

_looked_at := {key | some key in input.objects} if input.objects

_looked_at := {concat("/", [type, namespace, name]) |
	some type, _ in types
	some namespace in lookup.namespaces_of(type)
	some name, _ in lookup.objects_in(type, namespace)
} if {
	not input.objects
}
