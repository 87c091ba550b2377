package bridge.queries

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# The objects that a changed policy's previous selectors select, as `[policy, object]`.
former_selections contains [policy, ref.object] if {
	some policy in input.keys
	some ["selectors", namespace, type, text] in input.was[policy]
	some ref in policies.selected_refs(namespace, type, text)
}

# The objects that policies may select, or no longer select, because of the changed objects, as `[policy, objects]`.
reselections := {reselection | some key in input.keys; some reselection in attachment.reselections(key)}

old_paths := {path | some key in input.keys; some path in input.was[key]}

# The objects whose change affects the hierarchy below: the changed objects, those that they were above before, those
# with references into a namespace whose grants changed, and those that share a port with a changed object, now or
# before.
dependent_objects contains key if some key in input.keys
dependent_objects contains child if some ["parents", child] in old_paths

# Routes that use default Gateways have these as parents, also in their statuses.
dependent_objects contains route if {
	before := {key | some key in input.keys; ["parents", index.default_gateways_key] in input.was[key]}
	now := {key | some key in input.keys; key in index.default_gateways}
	now != before
	some route in index.declared_children(index.default_gateways_key)
}

dependent_objects contains referrer if {
	some key in input.keys
	keys.parse(key).type == "gateway.networking.k8s.io/ReferenceGrant"
	some referrer in index.referrers(keys.parse(key).namespace)
}

dependent_objects contains rival if {
	some key in input.keys
	some rival in hierarchy.rivals(key)
}

dependent_objects contains rival if {
	some key in input.keys
	some path in input.was[key]
	some rival in hierarchy.rivals_at(key, path)
}

# A listener may conflict with those of other ListenerSets of its Gateway.
dependent_objects contains listener_set if {
	some key in input.keys
	some listener_set in _listener_sets_beside(key)
}

# The ListenerSets whose conflicts a change of an object may affect: those of a Gateway, of the Gateways that a
# ListenerSet names or named, and of the Gateways of a Namespace's ListenerSets.
_listener_sets_beside(key) := {listener_set |
	some gateway in gateways_of(levels.of(key), key)
	some listener_set in index.declared_children(gateway)
	levels.of(listener_set) == "ListenerSet"
}

# The Gateways whose listeners may conflict, or share ports, with those of ListenerSets because of a change of an
# object.
default gateways_of(_, _) := set()

gateways_of("Gateway", gateway) := {gateway}
gateways_of("ListenerSet", listener_set) := index.declared_parents(listener_set) | {gateway |
	some ["children", gateway] in input.was[listener_set]
}

gateways_of("Namespace", namespace) := {gateway |
	type := "gateway.networking.k8s.io/ListenerSet"
	some name, _ in lookup.objects_in(type, keys.parse(namespace).name)
	some gateway in index.declared_parents(concat("/", [type, keys.parse(namespace).name, name]))
}

changed_policies := {key | some key in dependent_objects; kinds.of_policy(key)}

# The policies and PolicyKinds whose acceptance may differ: the changed ones, those that share a target with one, and
# those with a changed target.
dependent_policies contains policy if {
	some policy in (changed_policies | _possible_dependents)
	kinds.of_policy(policy)
}

_possible_dependents contains policy if {
	some target in _concerned_targets
	some policy in attachment.permitted_policies_targeting(target)
}

_concerned_targets contains object_key if some object_key in dependent_objects

_concerned_targets contains ref.object if {
	some policy in changed_policies
	some ref in policies.declared_refs(policy)
}

_concerned_targets contains object_key if some [_, object_key] in former_selections
_concerned_targets contains target if some ["targeted", target] in old_paths

# Whatever its previous labels, the policies that selected an object are among those with selectors for its kind and
# namespace.
_possible_dependents contains policy if {
	some key in input.keys
	parts := keys.parse(key)
	some namespace in {parts.namespace, policies.any_namespace}
	some [policy, _] in policies.policies_selecting(namespace, parts.type)
}

_possible_dependents contains policy if some [policy, _] in reselections

# A ListenerSet's listeners may share ports with its Gateway's.
_possible_dependents contains policy if {
	some key in input.keys
	some gateway in gateways_of(levels.of(key), key)
	some policy in attachment.permitted_policies_targeting(gateway)
	kinds.acts_on_whole_ports(keys.type_of(policy), keys.type_of(gateway))
}

# PolicyKinds may conflict with each other.
dependent_policies contains key if {
	some changed in input.keys
	keys.type_of(changed) == kinds.policykind_type
	some key in lookup.keys_of(kinds.policykind_type)
}
