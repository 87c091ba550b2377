package bridge.queries

import data.bridge.attachment
import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.scopes
import data.bridge.topology

# The effective targets at or below targets, with the policy kinds of the query that act there.
scopes_at(targets) := sort({[scope, kind] |
	some target in targets
	node := hierarchy.canonical_key(target)
	some kind in policy_kinds
	some scope in scopes.scopes_at_or_below(kind, node)
})

# The explanation of the effective policies at a target: for each effective target in or below it and each policy kind
# `{target, policyKind, paths, attachments, links}`, with the reasons of everything that is ignored: `attachments` of
# policies that name a node of a path, and `links` of the hierarchy above. A kind without any of these is absent.
# `incomplete`, if there is any, has what the user may not read and what may change the result.
explanation := array.flatten([explained, elsewhere, undescribed]) if {
	target := hierarchy.canonical_key(input.target)
	explained := [entry |
		some [node, kind] in scopes_at([target])
		entry := object.union(
			{
				"target": node,
				"policyKind": kind,
				"paths": engine.explanations(kind, node, source),
				"attachments": sort(attachment.rejections(kind, node)),
				"links": hierarchy.rejected_links(node),
			},
			_unread_around(kind, node),
		)
		(count(entry.paths) + count(entry.attachments)) + count(entry.links) > 0
	]

	# Kinds without effective policies and rejections, with the policies that users may expect here.
	elsewhere := [{"target": target, "policyKind": kind, "paths": [], "attachments": sort(attachments), "links": []} |
		some kind in sort(policy_kinds - {entry.policyKind | some entry in explained})
		attachments := scopes.policies_elsewhere(kind, target)
		count(attachments) > 0
	]

	# Policies at the nodes of the target's paths that no policy kind describes: they have no effect (semantics K6).
	undescribed := [{"target": target, "policyKind": type, "paths": [], "attachments": attachments, "links": []} |
		not input.policyKind
		found := topology.undescribed_above(target)
		some type in sort({keys.type_of(rejection.policy) | some rejection in found})
		attachments := sort({rejection | some rejection in found; keys.type_of(rejection.policy) == type})
	]
}

_unread_around(kind, node) := {"incomplete": sort(reasons)} if {
	lookup.reads_in_part
	reasons := union({engine.unread_on(kind, path) | some path in hierarchy.kind_paths(kind, node)})
	count(reasons) > 0
} else := {}

# The effective policies at each of `scopes` that is one of the targets `watched` or below it. Deleted targets are absent.
watched_policies := [entry |
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
	paths := engine.listed_policies_of(kind, scope, source)
	entry := {"target": scope, "policyKind": kind, "paths": paths, "watched": sort(nodes)}
]

_watched_by_object[keys.parse(watched).object] contains watched if some watched in input.watched
