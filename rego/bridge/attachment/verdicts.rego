package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# The verdict on each ref of a policy, in order: `{ref, reason, message}`, reason Accepted, Invalid, TargetNotFound or
# Conflicted (GEP-713, "Status conditions"; semantics T2 to T4). If a ref names no object, the policy itself is the ref.
verdicts(policy_key) := [_invalid_verdict(policy_key, message)] if {
	message := policies.excess(policy_key)
} else := found if {
	namespace := keys.namespace(policy_key)
	by_name := [_verdict_on(policy_key, namespace, ref) | some ref in policies.refs_with_places(policy_key)]
	found := array.concat(by_name, _selector_verdicts(policy_key))
	count(found) > 0
} else := _bound_verdicts(policy_key) if {
	kinds.is_bound(keys.type_of(policy_key))
} else := [_invalid_verdict(policy_key, policy_problem(policy_key))]

_verdict_on(policy_key, namespace, written_ref) := object.union({"ref": ref}, verdict(policy_key, ref)) if {
	ref := index.target_ref(namespace, written_ref.raw)
} else := _invalid_verdict(policy_key, index.ref_flaw(written_ref.place, written_ref.raw))

# The verdict on a ref that names no object, or on a policy that is Invalid as a whole.
_invalid_verdict(policy_key, message) := {"ref": policies.object_ref(policy_key), "reason": "Invalid", "message": message}

# The verdict on one ref, including conflicts with other policies of its target.
verdict(policy_key, ref) := own if {
	own := own_verdict(policy_key, ref)
	own.reason != "Accepted"
} else := conflict(policy_key, ref) if {
	true
} else := conflict_elsewhere(policy_key) if {
	true
} else := {"reason": "Invalid", "message": message} if {
	# After conflicts: a policy that is refused for its port still holds its target, as for Envoy Gateway (semantics
	# F5).
	message := _shared_port_problem(policy_key, ref)
} else := {"reason": "Accepted", "message": "Policy has been accepted"}

# The verdict on one ref by the policy and the target only, without other policies and without the ports that the target
# shares with other listeners.
own_verdict(policy_key, ref) := {"reason": "Invalid", "message": message} if {
	message := policy_problem(policy_key)
} else := {"reason": "Invalid", "message": message} if {
	message := policies.ref_problem(policy_key, ref)
} else := {"reason": "TargetNotFound", "message": _not_found(policy_key, ref)} if {
	not _reachable(policy_key, ref)
} else := {"reason": "Invalid", "message": message} if {
	message := _port_problem(policy_key, ref)
} else := {"reason": "Invalid", "message": message} if {
	# Not of what fields of the kind select, whose entries have their own conditions.
	not policies.selects_by_fields(policy_key)
	message := _unmet(kinds.target_conditions(keys.type_of(policy_key), keys.type_of(ref.object)), policy_key, ref)
} else := {"reason": "Accepted", "message": ""}

# The kind's controller does not implement its policies at this Gateway or route.
_unmet(conditions, policy_key, ref) := sprintf("%s belongs to GatewayClass/%s, whose controller is not %s", [
	keys.describe(ref.object),
	class,
	concat(" or ", sort(controllers)),
]) if {
	controllers := conditions.controllers
	class := lookup.get(ref.object).spec.gatewayClassName
	controller := lookup.get(concat("/", ["gateway.networking.k8s.io/GatewayClass/-", class])).spec.controllerName
	not controller in controllers
} else := sprintf("%s has an address of type %s, so its proxies are deployed by hand. Select them by their labels", [keys.describe(ref.object), type]) if {
	types := conditions.exceptAddresses
	some address in lookup.get(ref.object).spec.addresses
	type := object.get(address, "type", "IPAddress")
	type in types
} else := sprintf("%s shares a port, a hostname and a path with %s, which %s does not target", [
	keys.describe(ref.object),
	keys.describe(others[0]),
	keys.describe(policy_key),
]) if {
	conditions.ownPlaces
	others := sort(hierarchy.routes_sharing_places(ref.object) - {named.object | some named in policies.named_refs(policy_key)})
	others != []
}

# No port that a ref names has a protocol on which the kind acts (GEP-1897: TLS to a port that is for UDP only).
_port_problem(policy_key, ref) := sprintf("%s acts on ports for %s, but %s is for %s only", [
	keys.parse(policy_key).kind,
	concat(" and ", protocols),
	keys.describe(ref.key),
	concat(" and ", sort(offered)),
]) if {
	protocols := kinds.target_protocols(keys.type_of(policy_key), keys.type_of(ref.object))
	offered := hierarchy.port_protocols(ref.object, ref.section)
	count(offered) > 0
	every protocol in offered {
		not protocol in protocols
	}
}

# A ref leaves out an HTTP listener of a port on which the kind acts as a whole.
_shared_port_problem(policy_key, ref) := sprintf("%s acts on whole ports, but %s shares a port with %s", [
	keys.parse(policy_key).kind,
	keys.describe(ref.key),
	concat(" and ", [keys.describe(listener) | some listener in sharing]),
]) if {
	kinds.acts_on_whole_ports(keys.type_of(policy_key), keys.type_of(ref.object))
	sharing := sort(hierarchy.listeners_sharing_ports(ref.object, ref.section))
	count(sharing) > 0
}

_not_found(policy_key, ref) := sprintf("You can't read its target %s", [keys.describe(ref.key)]) if {
	lookup.may_be_unread(ref.object)
} else := sprintf("Target %s is not found%s%s", [
	keys.describe(ref.key),
	concat("", [", or no ReferenceGrant lets this policy name it" |
		keys.parse(ref.object).namespace != keys.parse(policy_key).namespace
		not kinds.cluster_scoped(keys.parse(ref.object).type)
	]),
	policies.group_hint(keys.type_of(policy_key), keys.type_of(ref.object)),
])

# The reason why a policy is Invalid as a whole; undefined if it is valid.
policy_problem(policy_key) := policies.fact(policy_key, "invalid")

_reachable(policy_key, ref) if {
	# A port that has a name is not named by its number (semantics K2).
	hierarchy.canonical_key(ref.key) == ref.key
	is_permitted(policy_key, ref.object)
} else if {
	# Some kinds name ports by numbers, and sections that are in no hierarchy.
	kinds.target_condition(keys.type_of(policy_key), keys.type_of(ref.object), "ownSections")
	hierarchy.exists(ref.object)
	_may_have_section(ref)
	is_permitted(policy_key, ref.object)
}

_may_have_section(ref) if not levels.has_sections(keys.type_of(ref.object))
_may_have_section(ref) if hierarchy.canonical_key(ref.key)

# A policy may target an object: one of its own namespace, or if a ReferenceGrant allows it. A ref without permission
# has the same verdict whether the object exists or not (semantics T2).
is_permitted(policy_key, object_key) if {
	keys.namespace(object_key) in {"", keys.namespace(policy_key)}
} else if {
	kinds.of_policy(policy_key).crossNamespace == "Any"
} else if {
	keys.namespace(policy_key) == ""
} else if {
	# A policy that applies only to its own namespace needs no permission (semantics P6).
	kinds.is_consumer_kind(keys.type_of(policy_key))
} else if {
	# `ref_problem` decides whether a policy of the root namespace may name the object (semantics T8).
	kinds.is_root_namespace(keys.type_of(policy_key), keys.namespace(policy_key))
} else if {
	hierarchy.is_granted(policy_key, object_key)
} else := false

# The verdicts on a policy's selectors, one for each object that no ref and no earlier selector names (semantics T4). A
# selector that selects nothing, or is invalid, has its own verdict. What a field of the policy's kind selects need not
# be an object that the bridge knows: where it selects none, the policy is accepted (T8).
_selector_verdicts(policy_key) := [{"ref": policies.object_ref(policy_key), "reason": "Accepted", "message": "Policy has been accepted"}] if {
	policies.selectors_of(policy_key)[_].byField
	_verdicts_on_selectors(policy_key, policies.selectors_of(policy_key)) == []
} else := _verdicts_on_selectors(policy_key, policies.selectors_of(policy_key))

_verdicts_on_selectors(policy_key, all_selectors) := [verdict_on_one |
	some position, selector in all_selectors
	some verdict_on_one in _verdicts_on_selector(policy_key, selector, array.slice(all_selectors, 0, position))
]

# The verdicts on the objects that other objects bind a policy to (semantics T10).
_bound_verdicts(policy_key) := [object.union({"ref": ref}, verdict(policy_key, ref)) | some ref in refs] if {
	refs := policies.bound_refs(policy_key)
	refs != []
} else := [_invalid_verdict(policy_key, message)] if {
	message := policy_problem(policy_key)
} else := [{"ref": policies.object_ref(policy_key), "reason": "Accepted", "message": policies.refusal(policy_key).message}] if {
	policies.is_copy(policy_key)
} else := [{"ref": policies.object_ref(policy_key), "reason": "TargetNotFound", "message": sprintf("No %s binds it to %s", [
	concat(" or ", sort({split(entry.type, "/")[1] |
		some entry in kinds.of_policy(policy_key).boundBy
		entry.of == keys.type_of(policy_key)
	})),
	concat(" or ", sort({sprintf("a %s", [target.kind]) | some target in kinds.of_policy(policy_key).targets})),
])}]

# A policy selects its targets by fields of its kind only, and each that it selects is accepted. Costs nothing of what
# it selects: a policy for a whole mesh has as many targets as the cluster has workloads (semantics T8).
accepts_all(policy_key) if {
	policies.selects_by_fields(policy_key)
	not policy_problem(policy_key)
	policy_kind := keys.type_of(policy_key)
	not kinds.get(policy_kind).sameLevel in kinds.conflicting
	not kinds.has_namespace_defaults(policy_kind)
	every selector in policies.selectors_of(policy_key) {
		selector.byField
		not selector.flaw
		not policies.selector_problem(policy_key, selector)
		not kinds.depends_on_target(policy_kind, selector.type)
	}
} else := false

_verdicts_on_selector(policy_key, selector, earlier) := [_invalid_verdict(policy_key, message)] if {
	message := _selector_problem(policy_key, selector)
} else := [verdict_of_none] if {
	not selector.byField
	count(_selected_refs(policy_key, selector)) == 0
	verdict_of_none := {"ref": policies.object_ref(policy_key), "reason": "TargetNotFound", "message": _selects_nothing(selector)}
} else := [object.union({"ref": ref}, verdict(policy_key, ref)) |
	seen := {ref.key | some ref in policies.named_refs(policy_key)} | {ref.key |
		some other in earlier
		some ref in policies.selected_refs(other.namespace, other.type, other.text)
	}
	some ref in _selected_refs(policy_key, selector)
	not ref.key in seen
]

# What a selector selects, without objects of other namespaces that no grant permits: they are as if they did not exist.
_selected_refs(policy_key, selector) := [ref |
	some ref in policies.selected_refs(selector.namespace, selector.type, selector.text)
	is_permitted(policy_key, ref.object)
]

_selector_problem(policy_key, selector) := policy_problem(policy_key) if {
	true
} else := selector.flaw if {
	true
} else := sprintf("%s: %s", [selector.place, policies.selector_problem(policy_key, selector)])

_selects_nothing(selector) := sprintf("%s selects nothing: no %s%s has such labels", [
	selector.place,
	split(selector.type, "/")[1],
	concat("", [sprintf(" in namespace %s", [selector.namespace]) | not selector.namespace in {"-", policies.any_namespace}]),
])

# The policies of a kind that are attached to a node only by refs with a className, with these classes. Such an
# attachment applies only to paths through a GatewayClass of that name (the first version of GEP-713,
# PolicyTargetReference; semantics T1).
limits(policy_kind, node) := {policy: classes |
	some [policy, class_ref] in refs_to(policy_kind, node)
	class_ref.class
	accepted := [ref |
		some [other, ref] in refs_to(policy_kind, node)
		other == policy
		verdict(policy, ref).reason == "Accepted"
	]
	every ref in accepted {
		ref.class
	}
	classes := {ref.class | some ref in accepted}
}

# Some policy of a kind has a ref with a className.
has_class_limits(policy_kind) := policy_kind in index.kinds_with("limited")

# A path of a policy kind runs through one of these classes. A Direct kind's paths are those of its target.
runs_through(policy_kind, path, classes) if {
	not kinds.is_direct(policy_kind)
	count(hierarchy.classes(path) & classes) > 0
} else if {
	kinds.is_direct(policy_kind)
	some whole in hierarchy.paths(path[count(path) - 1], false)
	count(hierarchy.classes(whole) & classes) > 0
}

# The attachments of a kind's policies that are ignored for an effective target, although they name a node of one of
# its paths: `{policy, target, reason, message}`. `explain` adds these. The reason is the verdict's, Deleting or Staged,
# OtherClass (`className` excludes it from one of the paths), NoScope (its kind needs routes) or OtherController
# (semantics T1 to T6, P8).
rejections(policy_kind, node) := {rejection |
	paths := hierarchy.all_kind_paths(policy_kind, node)
	nodes := {on_path | some path in paths; some on_path in path}
	some object_key in _objects_on(paths)
	some policy_key in policies_targeting(object_key)
	keys.parse(policy_key).type == policy_kind
	some ref in refs_on(policy_key, object_key)
	_concerns(policy_kind, ref, nodes)
	rejection := object.union({"policy": policy_key, "target": ref.key}, _refusal(policy_key, ref, paths))
} | {rejection |
	some object_key in _objects_on(hierarchy.all_kind_paths(policy_kind, node))
	some policy_key in index.policies_at("oversized", object_key)
	keys.parse(policy_key).type == policy_kind
	rejection := {"policy": policy_key, "target": object_key, "reason": "Invalid", "message": policies.excess(policy_key)}
}

_objects_on(paths) := {keys.parse(node).object | some path in paths; some node in path}

# A ref to another section of the object does not concern this target; one to a missing section may.
_concerns(policy_kind, ref, nodes) if {
	place(policy_kind, ref.key) in nodes
} else if {
	not place(policy_kind, ref.key)
}

_refusal(policy, ref, paths) := policies.refusal(policy) if {
	not takes_part(policy)
} else := verdict(policy, ref) if {
	not _is_attached(policy, ref)
} else := {"reason": "OtherClass", "message": message} if {
	policy_kind := keys.parse(policy).type
	has_class_limits(policy_kind)
	node := place(policy_kind, ref.key)
	classes := limits(policy_kind, node)[policy]
	some path in paths
	node in path
	not runs_through(policy_kind, path, classes)
	message := sprintf("className limits it to paths through GatewayClass/%s", [concat(" or ", sort(classes))])
} else := {"reason": "NoScope", "message": message} if {
	kinds.of_policy(policy).needsRoutes
	some path in paths
	node := path[count(path) - 1]
	every at in {node} | hierarchy.accepted_sections(node) {
		not hierarchy.has_needed_routes(keys.type_of(policy), at)
	}
	message := sprintf("No route is attached to %s", [keys.describe(node)])
} else := {"reason": "OtherController", "message": message} if {
	policy_kind := keys.parse(policy).type
	names := kinds.get(policy_kind).controllers
	node := place(policy_kind, ref.key)
	class := sort({hierarchy.kept_off_by(policy_kind, path) | some path in paths; node in path})[0]
	message := sprintf("The controller of GatewayClass/%s is not %s, so policies of %s are ignored below it", [
		keys.parse(class).name,
		concat(" or ", sort(names)),
		keys.parse(policy).kind,
	])
}

_is_attached(policy, ref) if policy in attached_policies(keys.type_of(policy), place(keys.type_of(policy), ref.key))
