# METADATA
# title: Policies
# description: The properties of one policy alone, independent of other objects.
package bridge.policy

import data.bridge.index
import data.bridge.lookup

# METADATA
# description: The bound that the policy of a key exceeds, as a message; undefined if it exceeds none.
excess(policy_key) := index.excess(lookup.get(policy_key)) if {
	policy_key in lookup.changed_keys
} else := index.stored_excess(policy_key) if {
	not policy_key in lookup.changed_keys
}

# METADATA
# description: This number of policies is always within `leaf_bound`.
largest_policies := 8

# METADATA
# description: |
#   The maximum number of leaves of all policies that are merged or compared at one place (semantics T7):
#   `largest_policies` times the largest size. It limits what a tenant's many large policies cost the queries of all
#   tenants.
leaf_bound := largest_policies * index.bounds.leaves

# METADATA
# description: Policies have at most `leaf_bound` leaves together. Counted only if they might have more.
leaves_within_bound(keys_of_policies) if {
	count(keys_of_policies) <= largest_policies
} else if {
	sum([leaves | some key in keys_of_policies; leaves := fact(key, "leaves")]) <= leaf_bound
}
