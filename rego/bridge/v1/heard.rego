package bridge.v1

import data.bridge.attachment
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies

# Policies whose acceptance may differ: the changed, those that share a target with one, those whose target changed.
_heard contains policy if some policy in _concerned_policies

_heard contains policy if {
	some object_key in _concerned_objects
	some policy in attachment.targeting(object_key)
	kinds.of_policy(policy)
}

_heard contains policy if {
	some concerned_policy in _concerned_policies
	some ref in policies.declared_refs(concerned_policy)
	some policy in attachment.targeting(ref.object)
	kinds.of_policy(policy)
}

_heard contains policy if {
	some [_, object_key] in _selected_before
	some policy in attachment.targeting(object_key)
	kinds.of_policy(policy)
}

# Whatever labels an object had, what selected it then is among those that select such objects there.
_heard contains policy if {
	some key in input.keys
	parts := keys.parse(key)
	some [policy, _] in index.selecting(parts.namespace, parts.type)
	kinds.of_policy(policy)
}

_heard contains policy if {
	some ["targeted", target] in _old_paths
	some policy in attachment.targeting(target)
	kinds.of_policy(policy)
}

# PolicyKinds may conflict with each other.
_heard contains key if {
	some changed in input.keys
	keys.parse(changed).type == kinds.policykind_type
	some name, _ in lookup.objects_in(kinds.policykind_type, "-")
	key := concat("/", [kinds.policykind_type, "-", name])
}
