package bridge.v1

import data.bridge.attachment
import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.queries
import data.bridge.scopes
import data.bridge.topology

# METADATA
# description: |
#   `explain`: how what holds at `target` came about: for each effective target in or below it and each policy kind the
#   same as `effective`, with each step of each fold, and what does not count with its reason: `attachments` of policies
#   that name a node of a path, and `links` of the hierarchy above. A kind with nothing to tell is absent. Without `sourceNamespace`
#   a path on which something else counts for requests from one namespace follows, with that as its `sourceNamespace`.
# entrypoint: true
explain := queries.input_problem if {
	queries.input_problem
} else := _target_problem if {
	_target_problem
} else := array.flatten([_explained, _elsewhere, _undescribed])

_explained := [entry |
	some [node, kind] in sort({[scope, kind] |
		some kind in queries.policy_kinds
		some scope in scopes.scopes_at_or_below(kind, hierarchy.canonical_key(input.target))
	})
	entry := {
		"target": node,
		"policyKind": kind,
		"paths": [path | may_have_policies(kind, node); some path in _explanations(kind, node)],
		"attachments": sort({rejection | may_have_policies(kind, node); some rejection in attachment.rejections(kind, node)}),
		"links": hierarchy.rejected_links(node),
	}
	(count(entry.paths) + count(entry.attachments)) + count(entry.links) > 0
]

# Kinds of which nothing else is told, with the policies that one might look for here.
_elsewhere := [{"target": target, "policyKind": kind, "paths": [], "attachments": sort(attachments), "links": []} |
	target := hierarchy.canonical_key(input.target)
	some kind in sort(queries.policy_kinds)
	not kind in {entry.policyKind | some entry in _explained}
	attachments := scopes.policies_elsewhere(kind, target)
	count(attachments) > 0
]

# Policies on the way to the target that no policy kind describes: they count nowhere (semantics K6).
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

_target_problem := queries.error("InvalidInput", "target must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not is_string(object.get(input, "target", null))
} else := queries.error("InvalidInput", "target must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not keys.parse(input.target)
} else := queries.error("TargetNotFound", sprintf("%s does not exist", [input.target])) if {
	not hierarchy.canonical_key(input.target)
}
