# METADATA
# title: Attachment
# description: |
#   Which policies are attached to which nodes. A declared target is what a ref names (GEP-713, "The targetRefs
#   stanza"); whether a ref is accepted is decided per ref (semantics T1 to T5).
package bridge.attachment

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   The policies of a kind that select an object, or of all kinds. The cost is that of the selectors for such objects in
#   their namespace, and nothing where there are none.
policies_selecting(object_key) := {policy |
	parts := keys.parse(object_key)
	labels := policies.labels_of(parts.type, parts.name, object.get(lookup.get(object_key).metadata, "labels", {}))
	some [policy, text] in index.policies_selecting(parts.namespace, parts.type)
	policies.selects(text, labels)
}

# METADATA
# description: The policies of any kind that name an object or a section of it, or select it.
policies_targeting(object_key) := index.policies_targeting(object_key) | policies_selecting(object_key)

# METADATA
# description: |
#   Those of them that may name the object. Policies of other namespaces that may not are left out: their authors can name any
#   object, as often as they like, and must not make a change of it expensive.
permitted_policies_targeting(object_key) := {policy | some policy in policies_targeting(object_key); is_permitted(policy, object_key)}
