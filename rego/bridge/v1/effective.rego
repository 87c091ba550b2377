# METADATA
# title: Queries
# description: |
#   The contract for clients, POST `/v1/data/bridge/v1/<name>` with `{"input": {…}}`. For invalid input the result is
#   `{"error": {"code", "message"}}`, never empty. Every query accepts `changes`.
package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `effective`: the effective policies at `targets`, for each policy kind and path. A target above a kind's effective
#   level means the effective targets below it. A path without a policy is absent. With `sourceNamespace` the effective
#   policies for requests from there, otherwise only those that are the same for all (semantics P6).
# entrypoint: true
effective := queries.input_problem if {
	queries.input_problem
} else := queries.targets_problem if {
	queries.targets_problem
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in sort({[scope, kind] |
		some target in input.targets
		target_node := hierarchy.canonical_key(target)
		some kind in queries.policy_kinds
		some scope in scopes.scopes_at_or_below(kind, target_node)
		kind in kinds_at(scope)
	})
	paths := engine.policies_of(kind, node, object.get(input, "sourceNamespace", ""))
	paths != []
]

# METADATA
# description: |
#   The policy kinds of the query that may have policies at a node. If it names one kind, the check would cost more than
#   it saves.
kinds_at(_) := queries.policy_kinds if input.policyKind

kinds_at(node) := engine.kinds_at(node) if not input.policyKind
