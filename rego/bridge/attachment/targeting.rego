# METADATA
# title: Attachment
# description: |
#   The attachment of policies to nodes. A ref names a declared target (GEP-713, "The targetRefs stanza"); each ref is
#   accepted or rejected independently (semantics T1 to T5).
package bridge.attachment

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   The policies of a kind, or of all kinds, that select an object. The cost is that of the selectors for such objects
#   in their namespace.
policies_selecting(object_key) := {policy |
	parts := keys.parse(object_key)
	some namespace in {parts.namespace, policies.any_namespace}
	some [policy, text] in policies.policies_selecting(namespace, parts.type)
	policies.selects_object(text, object_key)
}

# METADATA
# description: The refs of a policy to one object; see `bridge.policy.refs_on`.
refs_on(policy_key, object_key) := policies.refs_on(policy_key, object_key, _is_selected(policy_key, object_key))

_is_selected(policy_key, object_key) if {
	policies.may_select(keys.type_of(policy_key))
	policy_key in policies_selecting(object_key)
} else := false

# METADATA
# description: The policies of any kind that name an object or a section of it, or select it.
policies_targeting(object_key) := index.policies_targeting(object_key) | policies_selecting(object_key)

# METADATA
# description: |
#   The policies that name the object and may target it. Policies of other namespaces without permission are omitted: their authors
#   can name any object any number of times, and must not make its changes expensive.
permitted_policies_targeting(object_key) := {policy | some policy in policies_targeting(object_key); is_permitted(policy, object_key)}
