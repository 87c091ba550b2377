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
#   The policies that affect an object, by policy kind and place; what `affected` is told. From what lies in the object, and
#   from all that the policies reach that name it as a target.
acting(object_key) := {name: places |
	some name in marking
	marks := {[mark[1], row.policy] |
		some row in (_rows_in(name, object_key) | _rows_of_targeting(name, object_key))
		some mark in row.marks
		mark[0] == object_key
	}
	count(marks) > 0
	places := {place: policies |
		some [place, _] in marks
		policies := {policy | some [other, policy] in marks; other == place}
	}
}

_rows_in(policy_kind, object_key) := {row |
	some node in ({object_key} | hierarchy.sections(object_key))
	scopes.acts_at(policy_kind, node)
	some row in outcomes.at_target(policy_kind, node)
}

_rows_of_targeting(policy_kind, object_key) := {row |
	some policy in _targeting(policy_kind, object_key)
	some scope in scopes.reached(policy)
	some row in outcomes.at_target(policy_kind, scope)
	row.policy == policy
}

_targeting(policy_kind, object_key) := {policy |
	some policy in attachment.targeting(object_key)
	keys.parse(policy).type == policy_kind
}

# METADATA
# description: |
#   The policies in whose status there is no room for an object, by policy kind and place (semantics S3). From all policies
#   that the object may be an ancestor of.
unreported(object_key) := {name: places |
	some name in kinds.names
	kinds.get(name).mode == "Manage"
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
	not kinds.direct(policy_kind)
	some scope in scopes.at_or_below(policy_kind, object_key)
	some row in outcomes.at_target(policy_kind, scope)
	policy := row.policy
} | {policy |
	kinds.direct(policy_kind)
	some below in hierarchy.objects_below(object_key)
	some policy in _targeting(policy_kind, below)
}) | _targeting(policy_kind, object_key)
