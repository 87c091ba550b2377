# METADATA
# title: Scopes
# description: |
#   The nodes at which a policy kind acts, its effective targets, and which of them are below a declared target
#   (GEP-713, "Computing the scopes of a declared target").
package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The effective targets of a policy kind at or below a node, by declared links: those to recompute when the node's
# object changes, and those that users mean by a Gateway or a route.
scopes_at_or_below(policy_kind, node) := {node} if {
	not index.has_extension_links
	_is_of_acting_type(policy_kind, node)
} else := _direct_scopes(policy_kind, node) if {
	kinds.is_direct(policy_kind)
} else := _declared_scopes(policy_kind, node) if {
	kinds.acts_where_declared(policy_kind)
} else := {node} if {
	_is_only_target(policy_kind, node)
} else := _scopes_below(policy_kind, node) if {
	not contains(node, "#")
} else := {scope |
	some scope in _scopes_below(policy_kind, keys.parse(node).object)
	_is_at_or_below(scope, node)
}

# The effective targets in an object and below it.
_scopes_below(policy_kind, object_key) := {scope |
	some key in hierarchy.objects_below(object_key)
	kinds.acts_on(policy_kind, keys.type_of(key))
	some scope in hierarchy.nodes_at(key, kinds.get(policy_kind).effectiveTarget)
} | _unnamed_backends(policy_kind, object_key)

# The effective targets of an Inherited kind that acts at its declared targets (semantics C1, effectiveTarget Target):
# the node, which a policy may have named before, and all nodes below it that a policy names. In a Namespace these may be of
# types that nothing links.
_declared_scopes(policy_kind, node) := {scope |
	object_key := keys.parse(node).object
	some key in (hierarchy.objects_below(object_key) | _unnamed_backends(policy_kind, object_key))
	kinds.acts_on(policy_kind, keys.type_of(key))
	some scope in _direct_scopes(policy_kind, key)
	_is_declared_below(policy_kind, node, scope)
}

# A policy names an effective target at or below a node.
_is_declared_below(policy_kind, node, scope) if {
	node == scope
} else if {
	count(attachment.attached_policies(policy_kind, scope)) > 0
	_is_at_or_below(scope, node)
}

# An effective target at or below an object is also at or below a node of the object.
_is_at_or_below(scope, node) if {
	not contains(node, "#")
} else if {
	scope == node
} else if {
	# A section of the node's own object is below the node only if it is the node.
	keys.parse(scope).object != keys.parse(node).object
	node in hierarchy.nodes_above(scope)
}

# The effective targets of a Direct kind at a node: the node and, for an object, its sections (semantics C2).
_direct_scopes(policy_kind, node) := {scope |
	kinds.may_target(policy_kind, keys.parse(node).type)
	itself := attachment.place(policy_kind, node)
	not hierarchy.is_unaccepted(itself)
	_is_target(policy_kind, itself)
	some scope in ({itself} | _sections_of(policy_kind, node))
	_has_protocol(policy_kind, scope)
}

# For a Direct kind whose refs name no sections, an object is one whole.
_is_target(_, node) if not contains(node, "#")
_is_target(policy_kind, _) if not kinds.is_direct(policy_kind)
_is_target(policy_kind, node) if kinds.may_target_sections(policy_kind, keys.parse(node).type)

# A node is not a port, or is a port with a protocol on which a policy kind acts (`protocols` of its target entry).
_has_protocol(policy_kind, node) if {
	not hierarchy.is_port(node)
} else if {
	not kinds.target_protocols(policy_kind, "core/Service")
} else if {
	parts := keys.parse(node)
	some protocol in hierarchy.port_protocols(parts.object, parts.section)
	protocol in kinds.target_protocols(policy_kind, parts.type)
} else := false

_sections_of(policy_kind, node) := hierarchy.accepted_sections(node) if {
	not contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.parse(node).type)
} else := set()

# The nodes at which policies are counted.
without_whole_objects(policy_kind, nodes) := nodes if {
	kinds.is_direct(policy_kind) == false
} else := [node | some node in nodes; is_counted(policy_kind, node, _sections_of(policy_kind, node))]

# Policies of a kind are counted at a node among others: not at an object beside its sections, at which policies for it
# act, too (semantics C2). A listener of a ListenerSet is no section of its Gateway.
is_counted(policy_kind, node, others) if {
	kinds.is_direct(policy_kind) == false
} else if {
	not _acts_at_sections(policy_kind, node, others)
}

_acts_at_sections(policy_kind, object_key, others) if {
	some section in others
	startswith(section, concat("", [object_key, "#"]))
	_is_section_of(policy_kind, section)
}

_is_section_of(policy_kind, section) if {
	kinds.may_target_sections(policy_kind, keys.parse(section).type)
	_has_protocol(policy_kind, section)
}

# An effective target of a policy kind is in the result of `scopes_at_or_below` for a node. The cost is that of the
# nodes above the target, and not of those below the node.
is_within(policy_kind, node, scope) if {
	scope == node
} else if {
	kinds.is_direct(policy_kind)
	scope in _direct_scopes(policy_kind, node)
} else if {
	kinds.acts_where_declared(policy_kind)
	keys.whole(node) in objects_above(scope)
	_is_declared_below(policy_kind, node, scope)
} else if {
	not kinds.acts_at_targets(policy_kind)
	not _is_only_target(policy_kind, node)
	keys.whole(node) in objects_above(scope)
	_is_at_or_below(scope, node)
}

# The objects, frontends and Namespaces at and above an effective target by declared links, whether they count or not.
objects_above(scope) := hierarchy.objects_above(keys.whole(scope))

# The effective targets of a policy, from at most `bound` of its accepted refs and through at most `bound` objects for
# each step: `{scopes, whole}`. `whole` is false if there may be more. For callers that cannot wait for all of them.
sample_scopes(policy_key, bound) := {"scopes": scopes_found, "whole": whole} if {
	policy_kind := keys.parse(policy_key).type
	all_targets := attachment.targets(policy_key)
	targets := array.slice(sort(all_targets), 0, bound)
	parts := [_scopes_in_part(policy_kind, node, bound) | some node in targets]
	scopes_found := {scope |
		some index, part in parts
		some scope in part.scopes
		_has_counted_path(policy_kind, sort(targets)[index], scope)
	}
	whole := ({part.whole | some part in parts} | {count(targets) == count(all_targets)}) == {true}
}

_scopes_in_part(policy_kind, node, bound) := {"scopes": scopes_at_or_below(policy_kind, node), "whole": true} if {
	kinds.is_direct(policy_kind)
} else := {"scopes": {node}, "whole": true} if {
	_is_only_target(policy_kind, node)
	not kinds.acts_where_declared(policy_kind)
} else := {"scopes": found, "whole": {below.whole, count(backends) == count(all_backends)} == {true}} if {
	object_key := keys.parse(node).object
	below := hierarchy.some_below(object_key, bound)
	all_backends := _unnamed_backends(policy_kind, object_key)
	backends := {key | some key in array.slice(sort(all_backends), 0, bound)}
	found := {scope |
		some key in (below.objects | backends)
		kinds.acts_on(policy_kind, keys.type_of(key))
		some scope in _scopes_of_one(policy_kind, key)
		_counts_below(policy_kind, scope, node)
	}
}

_scopes_of_one(policy_kind, key) := _direct_scopes(policy_kind, key) if {
	kinds.acts_where_declared(policy_kind)
} else := hierarchy.nodes_at(key, kinds.get(policy_kind).effectiveTarget) | ({key} & _unnamed_backends(policy_kind, key))

_counts_below(policy_kind, scope, node) if {
	kinds.acts_where_declared(policy_kind)
	_is_declared_below(policy_kind, node, scope)
} else if {
	not kinds.acts_where_declared(policy_kind)
	_is_at_or_below(scope, node)
}

# A node is one at which a policy kind may act.
acts_at(policy_kind, node) := _acts_at_target(policy_kind, node) if {
	kinds.acts_at_targets(policy_kind)
} else := _acts_at_level(policy_kind, node)

_acts_at_level(policy_kind, node) := false if {
	levels.of(node) != kinds.get(policy_kind).effectiveTarget # most nodes of a path
} else if {
	_is_of_acting_type(policy_kind, node)
} else := false if {
	hierarchy.is_unaccepted(node)
} else if {
	levels.of(node) == kinds.get(policy_kind).effectiveTarget
	_has_place(policy_kind, keys.parse(node).object)
	kinds.acts_on(policy_kind, keys.parse(node).type)
} else := false

_acts_at_target(policy_kind, node) := false if {
	not kinds.may_target(policy_kind, keys.type_of(node)) # most nodes of a path
} else := false if {
	hierarchy.is_unaccepted(node)
} else if {
	not contains(node, "#")
	_may_act_on(policy_kind, keys.type_of(node))
	attachment.place(policy_kind, node) == node
} else if {
	contains(node, "#")
	kinds.may_target_sections(policy_kind, keys.type_of(node))
	_may_act_on(policy_kind, keys.type_of(node))
	_has_protocol(policy_kind, node)
} else := false

# An existing node of a type at whose objects or sections a policy kind always acts, as most nodes in queries are. Saves
# an eighth of the expressions of `effective` of one rule.
_is_of_acting_type(policy_kind, node) if {
	_type_of_section(node) in kinds.traits(policy_kind).sections
} else if {
	keys.type_of(node) in kinds.traits(policy_kind).objects
	not regex.match(`[#@]`, node)
	hierarchy.exists(node)
}

# The type of a section's object. Undefined for other nodes and for listeners that are not accepted.
_type_of_section(node) := known.type if {
	[object_key, name] := split(node, "#")
	known := index.facts(object_key)
	_is_accepted(known, object_key, name)
}

_is_accepted(known, object_key, name) if {
	known.hostnames # a route, all of whose rules are accepted
} else if {
	not hierarchy.unaccepted_listeners(object_key)[name]
}

# A node at which a kind acts is the only effective target at it, unless an extension module links objects of one level.
_is_only_target(policy_kind, node) if {
	acts_at(policy_kind, node)
	not index.has_extension_links
}

_has_place(policy_kind, object_key) if {
	hierarchy.has_place(object_key)
} else if {
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}

_may_act_on(policy_kind, type) if {
	kinds.is_direct(policy_kind)
} else if {
	kinds.acts_on(policy_kind, type)
}

# The backends of a policy kind's target kinds, at an object or in a Namespace, whether a rule names them or not.
_unnamed_backends(policy_kind, object_key) := {concat("/", [type, parts.name, name]) |
	parts := keys.parse(object_key)
	parts.type == "core/Namespace"
	some type in kinds.backend_types(policy_kind)
	some name, _ in lookup.objects_in(type, parts.name)
} | {object_key |
	keys.parse(object_key).type in kinds.backend_types(policy_kind)
	hierarchy.exists(object_key)
}

# The effective targets of a policy, from its accepted refs.
reachable_scopes(policy_key) := {scope |
	policy_kind := keys.parse(policy_key).type
	some node in attachment.targets(policy_key)
	some scope in scopes_at_or_below(policy_kind, node)
	_has_counted_path(policy_kind, node, scope)
	not _is_of_other_class(policy_key, node, scope)
	hierarchy.has_needed_routes(policy_kind, scope)
}

# A className excludes a policy from paths through other GatewayClasses (semantics T1).
_is_of_other_class(policy_key, node, scope) if {
	policy_kind := keys.parse(policy_key).type
	attachment.has_class_limits(policy_kind)
	classes := attachment.limits(policy_kind, node)[policy_key]
	every path in {path | some path in hierarchy.kind_paths(policy_kind, scope); node in path} {
		not attachment.runs_through(policy_kind, path, classes)
	}
}

# A path through a node to an effective target counts for a policy kind. A kind with `controllers` has no effective
# targets below Gateways of others (semantics P8).
_has_counted_path(policy_kind, node, scope) if {
	not kinds.get(policy_kind).controllers
} else if {
	some path in hierarchy.kind_paths(policy_kind, scope)
	node in path
}

# The effective targets below the objects that a policy is attached to, or to a section of which. They include all
# effective targets of the policy, and are cheaper if many policies share an object, because no path is walked.
candidate_scopes(policy_key) := reachable_scopes(policy_key) if {
	kinds.acts_at_targets(keys.parse(policy_key).type)
} else := {scope |
	some object_key in {keys.parse(node).object | some node in attachment.targets(policy_key)}
	some scope in _scopes_below(keys.parse(policy_key).type, object_key)
}

# The policies of a kind that users may expect at a target and that act elsewhere, `{policy, target, reason, message}`:
# those that name the target while the kind has no effective target at or below it (NoScope, or the verdict's reason),
# and Direct policies on nodes above it (OtherTarget). `explain` adds these for a kind without effective policies.
policies_elsewhere(policy_kind, target) := {rejection |
	kinds.is_direct(policy_kind)
	some object_key in (hierarchy.objects_above(keys.parse(target).object) - {keys.parse(target).object})
	some [policy_key, ref] in _refs_to(policy_kind, object_key)
	attachment.verdict(policy_key, ref).reason == "Accepted"
	rejection := {"policy": policy_key, "target": ref.key, "reason": "OtherTarget", "message": sprintf(
		"%s is Direct: it acts at %s only",
		[keys.parse(policy_key).kind, keys.describe(ref.key)],
	)}
} | {rejection |
	not kinds.is_direct(policy_kind)
	count(scopes_at_or_below(policy_kind, target)) == 0
	some [policy_key, ref] in _refs_to(policy_kind, keys.parse(target).object)
	rejection := object.union({"policy": policy_key, "target": ref.key}, _without_scope(policy_kind, policy_key, ref))
}

_refs_to(policy_kind, object_key) := {[policy_key, ref] |
	some policy_key in attachment.policies_targeting(object_key)
	keys.parse(policy_key).type == policy_kind
	some ref in attachment.refs_on(policy_key, object_key)
}

# The statement that a policy kind has nothing to act at: "there is no HTTPRoute rule".
absence(policy_kind) := sprintf("you can read no %s", [lower(kinds.get(policy_kind).effectiveTarget)]) if {
	lookup.reads_in_part
} else := sprintf("there is no %s", [lower(kinds.get(policy_kind).effectiveTarget)])

_without_scope(policy_kind, policy_key, ref) := {"reason": "NoScope", "message": message} if {
	attachment.verdict(policy_key, ref).reason == "Accepted"
	message := sprintf("%s at or below %s", [absence(policy_kind), keys.describe(ref.key)])
} else := attachment.verdict(policy_key, ref)
