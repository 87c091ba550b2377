# METADATA
# title: Queries
# description: |
#   The contract for clients, POST `/v1/data/bridge/v1/<name>` with `{"input": {…}}`. For invalid input the result is
#   `{"error": {"code", "message"}}`, never empty. Every query accepts `changes`. docs/reference/queries.md describes
#   inputs and results.
package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.outcomes as results
import data.bridge.queries

# METADATA
# description: |
#   The effective policies at `targets`, for each policy kind and path; with `allPaths` also the paths without a policy,
#   with `fields` each path's list of fields in effect.
# entrypoint: true
effective := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["targets", "nodes"]])
} else := problem if {
	problem := queries.unknown_field({"fields", "allPaths"})
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in queries.scopes_at(input.targets)
	paths := engine.all_as_asked(engine.listed_policies_of(kind, node, queries.source))
	paths != []
]

# METADATA
# description: |
#   The explanation of the effective policies at `target`: the result of `effective` with each step of each fold, and
#   the reasons of everything that is ignored.
# entrypoint: true
explain := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["target", "node"]])
} else := problem if {
	problem := queries.unknown_field({"target"})
} else := queries.explanation

# METADATA
# description: |
#   The outcome of each policy of `policyKind` at each of `targets`, the rows that the remediator counts. With `unmarked`
#   they have no marks.
# entrypoint: true
outcomes := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["policyKind", "policy kind"], ["targets", "keys"]])
} else := queries.error("TooManyPaths", sprintf("more than %d paths lead to the targets together: query fewer at once", [hierarchy.paths_bound])) if {
	count(input.targets) > 1
	results.paths_to(input.policyKind, input.targets) > hierarchy.paths_bound
} else := results.unmarked_outcomes_of(input.policyKind, input.targets) if {
	input.unmarked == true
} else := results.outcomes_of(input.policyKind, input.targets)

# METADATA
# description: |
#   The differences that `changes` would make to effective policies at `scopes` (`{policyKind: [targets]}`, as
#   `dependents` returns them). With `before`, the result of `effective_at_scopes` of an OPA in which the change was not
#   made, the differences from that.
# entrypoint: true
differences := problem if {
	problem := queries.problem([
		["scopes", "keys by kind"],
		["before", {"type": "object"}, "before must be the result of effective_at_scopes"],
	])
} else := queries.differences_by_changes

# METADATA
# description: The effective policies at `scopes`, in the form in which `differences` of another OPA takes them.
# entrypoint: true
effective_at_scopes := problem if {
	problem := queries.problem([["scopes", "keys by kind"]])
} else := queries.effective_at(input.scopes)

# METADATA
# description: |
#   The result of `effective` at each of `scopes` that is one of the targets `watched` or below it, with an empty list of
#   paths if no policy is left.
# entrypoint: true
watch_results := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["scopes", "keys by kind"], ["watched", "keys"]])
} else := queries.watched_policies

# METADATA
# description: The effective targets of a policy, and the differences if it were deleted.
# entrypoint: true
impact := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([
		["policy", "policy"],
		["limit", {"type": "integer", "minimum": 1}, "limit must be a whole number above 0"],
	])
} else := problem if {
	problem := queries.unknown_field({"policy", "limit", "fields"})
} else := queries.impact
