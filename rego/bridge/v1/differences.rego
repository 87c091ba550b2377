package bridge.v1

import data.bridge.queries

# METADATA
# description: |
#   `differences`: the differences that `changes` would make to effective policies at `scopes` (`{policyKind:
#   [targets]}`, as `dependents` returns them): for each path that differs `{target, policyKind, path, before, after}`,
#   each `{spec, origins, policies}` or, without a policy (or target), null. A difference for requests from one
#   namespace only has `sourceNamespace`; with it in the input only such requests count.
# entrypoint: true
differences := queries.input_problem if {
	queries.input_problem
} else := queries.scopes_problem if {
	queries.scopes_problem
} else := queries.differences(_effective_before, queries.effective_at(input.scopes))

# One evaluation with another input for all scopes, because each evaluation drops the cached results of the previous
# one. The scopes are bound outside it.
_effective_before := before if {
	scopes := input.scopes
	before := queries.effective_at(scopes) with input as object.remove(input, ["changes"])
}
