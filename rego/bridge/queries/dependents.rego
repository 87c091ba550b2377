package bridge.queries

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.scopes

# The effects of a change: the effective targets to recompute, in addition to those that were computed before at the
# objects, the objects, and the policies and PolicyKinds whose acceptance may differ. Kinds without policies, such as
# shipped presets of vendors that a cluster does not have, have no scopes; the former scopes of a deleted policy follow
# from its old paths.
dependents := {
	"scopes": {kind: sort(found) |
		with_policies := kinds.names & lookup.types
		reached := {kind: nodes | nodes := dependent_objects | _concerned_frontends; some kind in with_policies}
		some kind in (with_policies | {kind | some kind, _ in _concerned_targets; kinds.get(kind)})
		nodes := union({
			object.get(reached, kind, set()),
			{_node(kind, key) | some key in _concerned_targets[kind]},
			{below |
				reached[kind]
				outcomes.depends_above(kind)
				some below in _concerned_below
				some policy in attachment.policies_targeting(below)
				keys.type_of(policy) == kind
			},
		})
		found := {scope | some node in nodes; some scope in scopes.scopes_at_or_below(kind, node)}
		count(found) > 0
	},
	"objects": sort(dependent_objects),
	"policies": sort(_dependent_policies),
}

# A ref may name a missing section; then its object is used.
_node(kind, key) := attachment.place(kind, key) if {
	true
} else := keys.frontend(keys.object_of(key)) if {
	kinds.frontend_role(kind, keys.type_of(key))
} else := keys.object_of(key)

# Frontends whose object changed, and those of a changed or deleted consumer route, which replaces the others' routes
# for its namespace (semantics P6).
_concerned_frontends := ({frontend |
	some key in dependent_objects
	frontend := keys.frontend(key)
	count(index.declared_children(frontend)) > 0
} | {frontend |
	some key in dependent_objects
	some frontend in index.declared_parents(key)
	keys.is_frontend(frontend)
	keys.parse(frontend).namespace != keys.parse(key).namespace
}) | {frontend |
	some ["children", frontend] in _old_paths
	keys.is_frontend(frontend)
}

_concerned_below := {below | some object_key in dependent_objects; some below in hierarchy.objects_below(object_key)}

# The declared targets to recompute, by policy kind, whatever their objects are now.
_concerned_targets[kind] contains target if {
	some [kind, target] in union({
		{[keys.type_of(policy), ref.key] | some policy in _changed_policies; some ref in policies.declared_refs(policy)},
		# A policy that conflicts at one target has no effect at its others (semantics F5). One that acts on whole ports may be
		# at a Gateway whose ListenerSet changed. The kind is checked before the refs: a policy of another kind may select all
		# of a cluster.
		{[keys.type_of(policy), ref.key] |
			some policy in _dependent_policies
			depends_on_others(keys.type_of(policy))
			some ref in policies.declared_refs(policy)
		},
		{[kind, target] | some ["attached", kind, target] in _old_paths},
		{[keys.type_of(policy), object_key] | some [policy, object_key] in _former_selections},
		{[keys.type_of(policy), object_key] | some [policy, object_keys] in _reselections; some object_key in object_keys},
	})
}

# Targets to which objects bind policies, or did.
_concerned_targets[kind] contains target if {
	_concerns_bindings
	some [kind, target] in (policies.targets_bound_through(_changed, _old_paths) | {[kind, object_key] |
		some [binding, object_key] in _former_selections
		some kind, _ in kinds.sets.binding[keys.type_of(binding)]
	})
}

# Targets that a changed Gateway, or one of a changed class, serves by a label.
_concerned_targets[kind] contains ref.object if {
	serving := {key | some key in input.keys; keys.type_of(key) in {"gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/GatewayClass"}}
	serving != set()
	some kind in (kinds.names & lookup.types)
	kinds.get(kind).targets[_].servedBy
	some policy in lookup.keys_of(kind)
	some ref in policies.named_refs(policy)
	attachment.is_served_through(kind, ref.object, serving)
}

# A Direct kind's refs that apply only below a GatewayClass (semantics T1). From the changed objects down, because
# authors may have thousands of such refs.
_concerned_targets[kind] contains ref.key if {
	some kind in index.kinds_with("limited")
	kinds.is_direct(kind)
	limited := index.policies_at("limited", kind)
	limited != set()
	some below in _concerned_below
	some policy in (index.policies_at("targeted", below) & limited)
	some ref in policies.named_refs(policy)
	ref.class
	ref.object == below
}

depends_on_others(kind) if kinds.get(kind).sameLevel == "ConflictOnOverlap"

depends_on_others(kind) if kinds.get(kind).targets[_].wholePorts
depends_on_others(kind) if kinds.get(kind).targets[_].ownPlaces
depends_on_others(kind) if kinds.get(kind).mustAgree

# The objects that a changed policy's previous selectors select, as `[policy, object]`.
_former_selections contains [policy, ref.object] if {
	some policy in input.keys
	some ["selectors", namespace, type, text] in input.was[policy]
	some ref in policies.selected_refs(namespace, type, text)
}

# The objects that policies may select, or no longer select, because of the changed objects, as `[policy, objects]`.
_reselections := {reselection | some key in input.keys; some reselection in attachment.reselections(key)}

_changed := {key | some key in input.keys}

_old_paths := {path | some key in input.keys; some path in input.was[key]}

# The objects whose change affects the hierarchy below: the changed objects, those that they were above before, and those
# whose own links a change may affect.
dependent_objects := union({
	_changed,
	{child | some ["parents", declared] in _old_paths; some child in hierarchy.routes_named(declared)},
	# Routes that use default Gateways have these as parents, also in their statuses.
	{route |
		before := {key | some key in input.keys; ["parents", index.default_gateways_key] in input.was[key]}
		now := {key | some key in input.keys; key in index.default_gateways}
		now != before
		some route in index.declared_children(index.default_gateways_key)
	},
	# Objects with references into a namespace whose grants changed.
	{referrer | some key in input.keys; some referrer in _referrers(key)},
	# Objects that share a port with a changed object, now or before.
	{rival | some key in input.keys; some rival in hierarchy.rivals(key)},
	{rival | some key in input.keys; some path in input.was[key]; some rival in hierarchy.rivals_at(key, path)},
	# Listeners of Gateways with the same proxies may conflict.
	hierarchy.sharing_with(_changed, object.get(input, "was", {})),
	# A listener may conflict with those of other ListenerSets of its Gateway.
	{listener_set |
		some key in input.keys
		some gateway in hierarchy.gateways_beside(key, object.get(input, ["was", key], []))
		some listener_set in index.declared_children(gateway)
		levels.of(listener_set) == "ListenerSet"
	},
})

# The objects with references into the namespace of a grant.
_referrers(key) := index.referrers(keys.namespace(key)) if {
	keys.type_of(key) == "gateway.networking.k8s.io/ReferenceGrant"
} else := set()

_changed_policies := {key | some key in dependent_objects; kinds.of_policy(key)} if {
	not _concerns_bindings
} else := {key |
	some key in dependent_objects
	kinds.of_policy(key)
} | policies.policies_bound_through(_changed, _old_paths)

# Objects bind policies to targets, or did.
_concerns_bindings if policies.has_bindings
_concerns_bindings if {
	some ["bound", _] in _old_paths
}

# The policies and PolicyKinds whose acceptance may differ: the changed policies, those that share a target with one, and
# those with a changed target. PolicyKinds may conflict with each other.
_dependent_policies := {policy | some policy in (_changed_policies | _possible_dependents); kinds.of_policy(policy)} | {key |
	some changed in input.keys
	keys.type_of(changed) == kinds.policykind_type
	some key in lookup.keys_of(kinds.policykind_type)
}

_possible_dependents := union({
	{policy |
		targets := union({
			dependent_objects,
			{ref.object | some policy in _changed_policies; some ref in policies.declared_refs(policy)},
			{object_key | some [_, object_key] in _former_selections},
			{target | some ["targeted", target] in _old_paths},
		})
		some target in targets
		some policy in attachment.permitted_policies_targeting(target)
	},
	# Whatever its previous labels, the policies that selected an object are among those with selectors for its kind and
	# namespace.
	{policy |
		some key in input.keys
		parts := keys.parse(key)
		some namespace in {parts.namespace, policies.any_namespace}
		some [policy, _] in policies.policies_selecting(namespace, parts.type)
	},
	{policy | some [policy, _] in _reselections},
	# A policy in conflict has no effective target, and yet a status for what is above its targets (semantics S3).
	{policy |
		kept_above := {kind | some kind in (kinds.names & lookup.types); outcomes.keeps_status_above(kind)}
		kept_above != set()
		some below in _concerned_below
		some policy in attachment.policies_targeting(below)
		keys.type_of(policy) in kept_above
		some verdict in attachment.verdicts(policy)
		verdict.reason == "Conflicted"
	},
	# A route may share, or have shared, its places with others.
	{policy |
		some key in input.keys
		levels.of(key) == "Route"
		some kind in (kinds.names & lookup.types)
		kinds.target_conditions(kind, keys.type_of(key)).ownPlaces
		some other in (hierarchy.routes_sharing_places(key) | {route |
			some ["served", parent, name, path] in input.was[key]
			some route in index.routes_serving(parent, name, path)
		})
		some policy in attachment.permitted_policies_targeting(other)
		keys.type_of(policy) == kind
	},
	# A ListenerSet's listeners may share ports with its Gateway's.
	{policy |
		some key in input.keys
		some gateway in hierarchy.gateways_beside(key, object.get(input, ["was", key], []))
		some policy in attachment.permitted_policies_targeting(gateway)
		kinds.acts_on_whole_ports(keys.type_of(policy), keys.type_of(gateway))
	},
})

# The objects whose links a change of an object may affect: those that name it as a parent or backend, the objects in a
# changed Namespace, those with references into a namespace whose grants changed, and those that share a port or proxies with it. A
# link that a grant allows belongs to the referring object and to the referenced one, a link of an extension module to its
# lower end.
neighbors_of(key) := union({
	hierarchy.step_below(key),
	index.declared_parents(key),
	_referrers(key),
	{child |
		some referrer in _referrers(key)
		some child in index.declared_children(referrer)
		keys.namespace(child) == keys.namespace(key)
	},
	rivals,
	{below | some rival in rivals; some below in hierarchy.step_below(rival)},
	{end |
		index.has_extension_links
		paths := {entry.path | some entry in index.entries(lookup.get(key))}
		some end in ({child | some ["extended", child] in paths} | hierarchy.ends_in_cycles({key}, paths))
	},
}) if rivals := hierarchy.rivals(key) | hierarchy.sharing_with({key}, {})
