package bridge.queries

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   The policies and PolicyKinds whose acceptance may differ: the changed ones, those that share a target with one, and
#   those with a changed target.
dependent_policies contains policy if some policy in changed_policies

dependent_policies contains policy if {
	some object_key in dependent_objects
	some policy in attachment.permitted_policies_targeting(object_key)
	kinds.of_policy(policy)
}

dependent_policies contains policy if {
	some concerned_policy in changed_policies
	some ref in policies.declared_refs(concerned_policy)
	some policy in attachment.permitted_policies_targeting(ref.object)
	kinds.of_policy(policy)
}

dependent_policies contains policy if {
	some [_, object_key] in former_selections
	some policy in attachment.permitted_policies_targeting(object_key)
	kinds.of_policy(policy)
}

# Whatever its previous labels, the policies that selected an object are among those with selectors for its kind and
# namespace.
dependent_policies contains policy if {
	some key in input.keys
	parts := keys.parse(key)
	some namespace in {parts.namespace, policies.any_namespace}
	some [policy, _] in policies.policies_selecting(namespace, parts.type)
	kinds.of_policy(policy)
}

dependent_policies contains policy if {
	some [policy, _] in reselections
	kinds.of_policy(policy)
}

dependent_policies contains policy if {
	some ["targeted", target] in old_paths
	some policy in attachment.permitted_policies_targeting(target)
	kinds.of_policy(policy)
}

# A ListenerSet's listeners may share ports with its Gateway's.
dependent_policies contains policy if {
	some key in input.keys
	some gateway in gateways_of(levels.of(key), key)
	some policy in attachment.permitted_policies_targeting(gateway)
	kinds.acts_on_whole_ports(keys.type_of(policy), keys.type_of(gateway))
}

# PolicyKinds may conflict with each other.
dependent_policies contains key if {
	some changed in input.keys
	keys.parse(changed).type == kinds.policykind_type
	some name, _ in lookup.objects_in(kinds.policykind_type, "-")
	key := concat("/", [kinds.policykind_type, "-", name])
}
