package bridge.v1

import data.bridge.queries

# METADATA
# description: |
#   `differences`: what `changes` would do to effective policies at `scopes` (`{policyKind: [targets]}`, as `dependents` gives
#   them): for each path on which something differs `{target, policyKind, path, before, after}`, each `{spec, origins, policies}`
#   or, without a policy (or target), null. What differs for requests from one namespace alone has `sourceNamespace`; with it in
#   the input only such requests count.
# entrypoint: true
differences := queries.input_problem if {
	queries.input_problem
} else := queries.scopes_problem if {
	queries.scopes_problem
} else := queries.differences(_effective_before, queries.effective_at(input.scopes))

# One evaluation with another input for all scopes: each would throw away what was computed for those before. They are bound
# outside it.
_effective_before := before if {
	scopes := input.scopes
	before := queries.effective_at(scopes) with input as object.remove(input, ["changes"])
}
