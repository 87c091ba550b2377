package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   Some policy of a kind may select its targets by labels.
may_select(policy_kind) if {
	policy_kind in selecting_kinds
} else := false

# METADATA
# description: The policy kinds of which some policy may select its targets by labels.
selecting_kinds := index.selecting_kinds | {kind | some kind, _ in _changed_selections}

# METADATA
# description: |
#   The policies that select objects of a type in a namespace (`-` for cluster-scoped ones, or `any_namespace`), as
#   [policy, what it selects by], whatever they select.
policies_selecting(namespace, type) := index.policies_selecting(namespace, type) if {
	lookup.has_no_changes
} else := {[policy, text] |
	some [policy, text] in index.policies_selecting(namespace, type)
	not _is_outdated(policy)
} | {[policy, text] |
	some by_policy in _changed_selections
	some policy, selections in by_policy
	some [selected_namespace, selected_type, text] in selections
	[selected_namespace, selected_type] == [namespace, type]
}

# What the policies that the query changes select by fields of their kinds: the index layer knows no kinds.
_changed_selections[policy_kind][policy] := selections if {
	not lookup.has_no_changes
	some policy, obj in lookup.upserts
	policy_kind := keys.type_of(policy)
	selections := selections_by_field(policy_kind, obj)
	count(selections) > 0
}

# What the other policies of the kinds that the query changes select.
_changed_selections[policy_kind][policy] := selections if {
	some policy_kind in kinds.with_other_selectors
	some policy in lookup.keys_of(policy_kind)
	not policy in lookup.changed_keys
	selections := {[selector.namespace, selector.type, selector.text] |
		some selector in selectors(policy_kind, lookup.get(policy))
		not selector.flaw
	}
	count(selections) > 0
}

# The index has what the policies of a changed kind selected by its previous description.
_is_outdated(policy) if {
	keys.type_of(policy) in kinds.with_other_selectors
	not policy in lookup.changed_keys
}
