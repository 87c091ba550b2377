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
#   `explain`: the explanation of the effective policies at `target`: for each effective target in or below it and each
#   policy kind the result of `effective`, with each step of each fold, and the reasons of everything that does not
#   count: `attachments` of policies that name a node of a path, and `links` of the hierarchy above. A kind without any
#   of these is absent. Without `sourceNamespace`, paths that differ for requests from one namespace follow, with that
#   as their `sourceNamespace`.
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
		"paths": [path | kind in kinds_at(node); some path in _explanations(kind, node)],
		"attachments": sort({rejection | kind in kinds_at(node); some rejection in attachment.rejections(kind, node)}),
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

_target_problem := queries.error("InvalidInput", "target must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not is_string(object.get(input, "target", null))
} else := queries.error("InvalidInput", "target must be a key, <group>/<Kind>/<namespace>/<name>[#<section>]") if {
	not keys.parse(input.target)
} else := queries.error("TargetNotFound", sprintf("%s does not exist", [input.target])) if {
	not hierarchy.canonical_key(input.target)
}
