# METADATA
# title: Attachment
# description: |
#   Which policies are attached to which nodes. A declared target is what a ref names (GEP-713, "The targetRefs
#   stanza"); whether a ref is accepted is decided per ref (semantics T1 to T5).
package bridge.attachment

import data.bridge.index
import data.bridge.lookup
import data.bridge.policy

# METADATA
# description: The refs by name of a replicated policy; see `target_refs`. None of a policy above a bound (semantics T6).
named(policy_key) := policy.facts(policy_key).refs if {
	true
} else := [] if {
	policy.oversized(policy_key)
} else := index.target_refs(lookup.get(policy_key))

# METADATA
# description: All targets of a replicated policy as refs, those that it names and those that it selects.
declared(policy_key) := [] if {
	policy.oversized(policy_key)
} else := named(policy_key) if {
	not lookup.get(policy_key).spec.targetSelectors
} else := array.concat(named(policy_key), [ref |
	some selector in index.target_selectors(lookup.get(policy_key))
	some ref in selected_refs(policy_key, selector.type, selector.text)
])
