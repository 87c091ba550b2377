# METADATA
# title: Policies
# description: What one policy says by itself, whatever else exists.
package bridge.policy

import data.bridge.index
import data.bridge.lookup

# METADATA
# description: The bound that the policy of a key is above, as a message; undefined where it is above none.
excess(policy_key) := index.excess(lookup.get(policy_key)) if {
	policy_key in lookup.changed_keys
} else := index.stored_excess(policy_key) if {
	not policy_key in lookup.changed_keys
}
