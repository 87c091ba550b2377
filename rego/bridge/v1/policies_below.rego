package bridge.v1

import data.bridge.effective as engine
import data.bridge.queries

# METADATA
# description: |
#   The effective policies that Direct kinds have at the backends of a route or a rule, the `target`, in the form of
#   `effective`: they act on its requests, and `explain` at the target does not have them. With `policyKind` also those at
#   the objects below another target, at most three links away.
# entrypoint: true
policies_below := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["target", "node"]])
} else := problem if {
	problem := queries.unknown_field({"target", "fields"})
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in queries.direct_scopes_below
	paths := engine.all_as_asked(engine.listed_policies_of(kind, node, queries.source))
	paths != []
]
