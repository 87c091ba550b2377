package bridge.queries

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   What a changed policy selected by what it selected by before, as `[policy, object]`.
former_selections contains [policy, ref.object] if {
	some policy in input.keys
	some ["selectors", _, type, text] in input.was[policy]
	some ref in policies.selected_refs(policy, type, text)
}

# METADATA
# description: The index paths that the changed objects had before.
old_paths := {path | some key in input.keys; some path in input.was[key]}

# METADATA
# description: |
#   The objects whose change reaches down the hierarchy: the changed objects, those that they were above before, those that
#   refer into a namespace whose grants changed, and those that share a port with a changed object, now or before.
dependent_objects contains key if some key in input.keys

dependent_objects contains child if some ["parents", child] in old_paths

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
	some path in old_paths
	some rival in hierarchy.rivals_at(path)
}

# METADATA
# description: The policies among the concerned objects.
changed_policies := {key | some key in dependent_objects; kinds.of_policy(key)}
