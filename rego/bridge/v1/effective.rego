# METADATA
# title: Queries
# description: |
#   The contract for clients, POST `/v1/data/bridge/v1/<name>` with `{"input": {…}}`. For invalid input the result is
#   `{"error": {"code", "message"}}`, never empty. Every query accepts `changes`.
package bridge.v1

import data.bridge.attachment
import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.queries
import data.bridge.scopes
import data.bridge.topology

# METADATA
# description: |
#   `effective`: the effective policies at `targets`, for each policy kind and path. A target above a kind's effective
#   level means the effective targets below it. A path without a policy is absent. With `sourceNamespace` the effective
#   policies for requests from there, otherwise only those that are the same for all (semantics P6).
# entrypoint: true
effective := problem if {
	problem := queries.problem([["targets", "nodes"]])
} else := [{"target": node, "policyKind": kind, "paths": paths} |
	some [node, kind] in _scopes_at(input.targets)
	paths := engine.policies_of(kind, node, object.get(input, "sourceNamespace", ""))
	paths != []
]

_scopes_at(targets) := sort({[scope, kind] |
	some target in targets
	node := hierarchy.canonical_key(target)
	some kind in queries.policy_kinds
	some scope in scopes.scopes_at_or_below(kind, node)
})

# METADATA
# description: |
#   `explain`: the explanation of the effective policies at `target`: for each effective target in or below it and each
#   policy kind the result of `effective`, with each step of each fold, and the reasons of everything that does not
#   count: `attachments` of policies that name a node of a path, and `links` of the hierarchy above. A kind without any
#   of these is absent. Without `sourceNamespace`, paths that differ for requests from one namespace follow, with that
#   as their `sourceNamespace`.
# entrypoint: true
explain := problem if {
	problem := queries.problem([["target", "node"]])
} else := array.flatten([_explained, _elsewhere, _undescribed])

_explained := [entry |
	some [node, kind] in _scopes_at([input.target])
	entry := {
		"target": node,
		"policyKind": kind,
		"paths": _explanations(kind, node),
		"attachments": sort(attachment.rejections(kind, node)),
		"links": hierarchy.rejected_links(node),
	}
	(count(entry.paths) + count(entry.attachments)) + count(entry.links) > 0
]

# Kinds without effective policies and rejections, with the policies that users may expect here.
_elsewhere := [{"target": target, "policyKind": kind, "paths": [], "attachments": sort(attachments), "links": []} |
	target := hierarchy.canonical_key(input.target)
	some kind in sort(queries.policy_kinds)
	not kind in {entry.policyKind | some entry in _explained}
	attachments := scopes.policies_elsewhere(kind, target)
	count(attachments) > 0
]

# Policies at the nodes of the target's paths that no policy kind describes: they have no effect (semantics K6).
_undescribed := [{"target": target, "policyKind": type, "paths": [], "attachments": attachments, "links": []} |
	not input.policyKind
	target := hierarchy.canonical_key(input.target)
	found := topology.undescribed_above(target)
	some type in sort({keys.parse(one.policy).type | some one in found})
	attachments := sort({one | some one in found; keys.parse(one.policy).type == type})
]

_explanations(kind, node) := engine.explanations(kind, node, input.sourceNamespace) if {
	object.get(input, "sourceNamespace", "") != ""
} else := engine.explanations_for_all(kind, node)

# METADATA
# description: |
#   `outcomes`: the outcome of each policy of `policyKind` at each of `targets`, the rows that the remediator counts. A
#   target that was deleted, has another name now or is not an effective target of the kind anymore has no rows. Targets
#   with too many paths together are an error, TooManyPaths, unless there is one target.
# entrypoint: true
outcomes := problem if {
	problem := queries.problem([["policyKind", "policy kind"], ["targets", "keys"]])
} else := queries.error("TooManyPaths", sprintf("more than %d paths lead to the targets together: query fewer at once", [hierarchy.paths_bound])) if {
	count(input.targets) > 1
	paths_to(input.policyKind, input.targets) > hierarchy.paths_bound
} else := outcomes_at(input.policyKind, input.targets)

# METADATA
# description: The number of paths from which the rows of a policy kind at these targets are computed.
paths_to(policy_kind, targets) := count(targets) if {
	kinds.is_direct(policy_kind)
	not outcomes.keeps_status_above(policy_kind)
	not kinds.get(policy_kind).controllers
} else := sum([hierarchy.path_count(keys.whole(target)) | some target in targets])

# METADATA
# description: The rows of a policy kind at each of these targets that is an effective target of it now.
outcomes_at(policy_kind, targets) := {target: entries |
	some target in targets
	scopes.acts_at(policy_kind, target)
	hierarchy.canonical_key(target) == target
	entries := outcomes.outcomes_at(policy_kind, target)
}

# METADATA
# description: |
#   `differences`: the differences that `changes` would make to effective policies at `scopes` (`{policyKind:
#   [targets]}`, as `dependents` returns them): for each path that differs `{target, policyKind, path, before, after}`,
#   each `{spec, origins, policies}` or, without a policy (or target), null. A difference for requests from one
#   namespace only has `sourceNamespace`; with it in the input only such requests count.
# entrypoint: true
differences := problem if {
	problem := queries.problem([["scopes", "keys by kind"]])
} else := queries.differences(_effective_before, queries.effective_at(input.scopes))

# One evaluation with another input for all scopes, because each evaluation drops the cached results of the previous
# one. The scopes are bound outside it.
_effective_before := before if {
	scopes := input.scopes
	before := queries.effective_at(scopes) with input as object.remove(input, ["changes"])
}

# METADATA
# description: |
#   `watch_results`: for `scopes` (`{policyKind: [targets]}`, as `dependents` returns them) the result of `effective` at
#   each that is one of the targets `watched` or below it: `[{target, policyKind, paths, watched}]`, with an empty list
#   of paths if no policy is left. Deleted targets are absent.
# entrypoint: true
watch_results := problem if {
	problem := queries.problem([["scopes", "keys by kind"], ["watched", "keys"]])
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

# METADATA
# description: |
#   `impact`: the effective targets of a policy, and the differences if it were deleted: `{policy, policyKind, scopes,
#   counts, ifDeleted}`. `scopes` are its effective targets, `counts` their number, by outcome too (one path each);
#   `ifDeleted` has for each path that would differ `{target, path, before, after}`, each `{spec, origins, policies}`
#   or, without a policy, null. A difference for requests from one namespace only has `sourceNamespace`; with it in the
#   input only such requests count. `limit` bounds the number of compared scopes; then `counts.compared` is less than
#   `counts.scopes`.
# entrypoint: true
impact := problem if {
	problem := queries.problem([
		["policy", "policy"],
		["limit", {"type": "number", "exclusiveMinimum": true, "minimum": 0}, "limit must be a number above 0"],
	])
} else := {
	"policy": input.policy,
	"policyKind": _impact_kind,
	"scopes": _impact_scopes,
	"counts": {"scopes": count(_impact_scopes), "compared": count(_compared), "outcomes": _impact_outcomes},
	"ifDeleted": [object.remove(difference, ["policyKind"]) | some difference in queries.differences(_impact_before, _impact_after)],
}

_impact_kind := keys.parse(input.policy).type

_impact_scopes := sort(scopes.reachable_scopes(input.policy))

_compared := array.slice(_impact_scopes, 0, object.get(input, "limit", 1000))

_impact_outcomes := {outcome: count(paths) |
	some outcome in ["Programmed", "PartiallyProgrammed", "Overridden"]
	paths := [true |
		some by_source in _impact_before[_impact_kind]
		some source, by_path in by_source
		some path, entry in by_path
		_counts_once(by_source, source, path)
		some policy in entry.policies
		policy.policy == input.policy
		policy.outcome == outcome
	]
}

# Paths that a source shares with all sources are counted for all.
_counts_once(by_source, source, path) if {
	source == ""
} else if {
	object.get(by_source, ["", path], null) != by_source[source][path]
}

_impact_before := queries.effective_at({_impact_kind: _compared})

# The scopes are bound outside, because without the policy there are none.
_impact_after := after if {
	scopes := {_impact_kind: _compared}
	after := queries.effective_at(scopes) with input as object.union(input, {"changes": _changes_without_policy})
}

_changes_without_policy := {
	"upsert": [obj | some obj in object.get(input, ["changes", "upsert"], []); keys.of(obj) != input.policy],
	"delete": array.concat(object.get(input, ["changes", "delete"], []), [input.policy]),
}
