package bridge.status

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.scopes

# METADATA
# description: |
#   The policies that affect an object, by policy kind and place; the input of `affected_status`. It covers the
#   effective targets in the object, and those at and below it if policies target it.
affecting_policies(object_key) := {name: places |
	some name, _ in kinds.sets.managed
	marks := {[mark[1], outcome.policy] |
		some outcome in (_outcomes_in(name, object_key) | _outcomes_of_targeting(name, object_key))
		some mark in outcome.marks
		mark[0] == object_key
	}
	count(marks) > 0
	places := {place: policies |
		some [place, _] in marks
		policies := {policy | some [other, policy] in marks; other == place}
	}
}

_outcomes_in(policy_kind, object_key) := {outcome |
	some node in ({object_key} | hierarchy.sections(object_key))
	scopes.acts_at(policy_kind, node)
	some outcome in outcomes.outcomes_at(policy_kind, node)
}

_outcomes_of_targeting(policy_kind, object_key) := {outcome |
	targeting := {policy | some policy in _targeting(policy_kind, object_key); attachment.is_permitted(policy, object_key)}
	count(targeting) > 0
	some node in ({object_key} | {place | place := attachment.place(policy_kind, object_key)})
	some scope in scopes.scopes_at_or_below(policy_kind, node)
	some outcome in outcomes.outcomes_at(policy_kind, scope)
	outcome.policy in targeting
}

_targeting(policy_kind, object_key) := {policy |
	some policy in attachment.policies_targeting(object_key)
	keys.parse(policy).type == policy_kind
}

# METADATA
# description: |
#   The policies whose full status omits an object, by policy kind and place (semantics S3). It covers all policies that
#   may have the object as an ancestor.
unreported_policies(object_key) := {name: places |
	some name, _ in kinds.sets.managed
	kinds.get(name).statusShape == "Ancestors"
	marks := {[mark[1], policy] |
		some policy in _below_or_at(name, object_key)
		not lookup.get(policy).metadata.deletionTimestamp
		some mark in ancestors(policy, outcomes.tallies(policy)).unreported
		mark[0] == object_key
	}
	count(marks) > 0
	places := {place: policies |
		some [place, _] in marks
		policies := {policy | some [other, policy] in marks; other == place}
	}
}

_below_or_at(policy_kind, object_key) := ({policy |
	not kinds.is_direct(policy_kind)
	some scope in scopes.scopes_at_or_below(policy_kind, object_key)
	some outcome in outcomes.outcomes_at(policy_kind, scope)
	policy := outcome.policy
} | {policy |
	kinds.is_direct(policy_kind)
	some below in hierarchy.objects_below(object_key)
	some policy in _targeting(policy_kind, below)
}) | _targeting(policy_kind, object_key)
