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

# METADATA
# description: So many policies are within `leaf_bound`, whatever their size.
largest_policies := 8

# METADATA
# description: |
#   How many leaves the policies may have together that are merged or compared at one place (semantics T7): as many as
#   `largest_policies` of the largest size. It bounds what a tenant's many large policies cost the queries of all.
leaf_bound := largest_policies * index.bounds.leaves

# METADATA
# description: Policies have at most `leaf_bound` leaves together. Counted only where they might have more.
leaves_within_bound(keys_of_policies) if {
	count(keys_of_policies) <= largest_policies
} else if {
	sum([leaves | some key in keys_of_policies; leaves := fact(key, "leaves")]) <= leaf_bound
}
