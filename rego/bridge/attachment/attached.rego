# METADATA
# title: Attachment
# description: |
#   The attachment of policies to nodes. A ref names a declared target (GEP-713, "The targetRefs stanza"); each ref is
#   accepted or rejected independently (semantics T1 to T5).
package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies

# The policies of a kind (`<group>/<Kind>`) that are attached to a node by an accepted ref.
attached_policies(policy_kind, node) := {policy |
	some policy in index.policies_naming(policy_kind, node)
	_accepted_at(policy, node)
} if {
	_are_named_by_key(policy_kind, keys.type_of(node))
} else := {policy |
	some [policy, ref] in refs_to(policy_kind, node)
	verdict(policy, ref).reason == "Accepted"
}

# A kind's policies select no objects of a type, and name each node by its only key: a backend may be a frontend too.
_are_named_by_key(policy_kind, type) if {
	levels.of_type(type) != "Backend"
	not policies.may_select(policy_kind)
}

# One entry of a policy's facts decides for all its refs, so many targets do not cost the square of their number.
_accepted_at(policy, node) if {
	policies.fact(policy, "near")[node]
} else if {
	takes_part(policy)
	is_permitted(policy, keys.object_of(node))
	some ref in policies.fact(policy, "refs")
	ref.key == node
	verdict(policy, ref).reason == "Accepted"
}

# The refs of a kind's policies to a node, whatever their verdicts, as [policy, ref]. A policy that both names and
# selects an object refers to it once.
refs_to(policy_kind, node) := {[policy, ref] |
	some policy in index.policies_naming(policy_kind, trim_suffix(node, "@frontend"))
	takes_part(policy)
	some ref in policies.named_refs(policy)
	place(policy_kind, ref.key) == node
} | {[policy, policies.selected_ref(policy, object_key)] |
	policies.may_select(policy_kind)
	not contains(node, "#")
	object_key := trim_suffix(node, "@frontend")
	some policy in policies_selecting(object_key)
	keys.parse(policy).type == policy_kind
	place(policy_kind, object_key) == node
	takes_part(policy)
}

# The node that a policy kind means by a key: the canonical one, or the frontend if the kind targets frontends
# (semantics K4). Undefined if there is none.
place(policy_kind, key) := hierarchy.canonical_key(key) if {
	not contains(key, "@")
	not kinds.frontend_role(policy_kind, keys.parse(key).type)
} else := hierarchy.canonical_key(concat("", [trim_suffix(key, "@frontend"), "@frontend"])) if {
	kinds.frontend_role(policy_kind, keys.parse(key).type)
}

# The nodes that a policy is attached to by its accepted refs; none while it is being deleted (semantics T5).
targets(policy_key) := {place(keys.parse(policy_key).type, ref.key) |
	takes_part(policy_key)
	some ref in policies.declared_refs(policy_key)
	verdict(policy_key, ref).reason == "Accepted"
}

# A policy with a deletionTimestamp has no effect (semantics T5), nor has a staged one (T9).
takes_part(policy_key) if not policies.is_out(policy_key)

# The policies of a kind, or of all kinds, that select an object. The cost is that of the selectors for such objects in
# their namespace.
policies_selecting(object_key) := set() if {
	policies.selecting_kinds == set()
} else := {policy |
	parts := keys.parse(object_key)
	some namespace in {parts.namespace, policies.any_namespace}
	some [policy, text] in policies.policies_selecting(namespace, parts.type)
	policies.selects_object(text, object_key)
} | policies.policies_bound_to(object_key)

# The refs of a policy to one object or a section of it, by name and by selection. Costs nothing of what else it
# selects.
refs_on(policy_key, object_key) := array.concat(
	[ref | some ref in policies.named_refs(policy_key); ref.object == object_key],
	[policies.selected_ref(policy_key, object_key) |
		policies.may_select(keys.type_of(policy_key))
		policy_key in policies_selecting(object_key)
	],
)

# The policies of any kind that name an object or a section of it, or select it.
policies_targeting(object_key) := index.policies_at("targeted", object_key) | policies_selecting(object_key)

# The policies that name the object and may target it. Policies of other namespaces without permission are omitted:
# their authors can name any object any number of times, and must not make its changes expensive.
permitted_policies_targeting(object_key) := {policy | some policy in policies_targeting(object_key); is_permitted(policy, object_key)}

# A Namespace matters only to selectors that read Namespaces.
_may_reselect(text, "core/Namespace") if policies.reads_namespaces(text)
_may_reselect(_, type) if type != "core/Namespace"

# The objects that policies may select, or no longer select, because a Namespace, a ReferenceGrant or a GatewayClass
# changed, as `[policy, objects]`: those in the namespace, for policies that select by the labels of Namespaces too or that
# need a grant, and the Gateways of the class, for policies that select those of named controllers (semantics T1, T8). What
# the changed object was before is unknown, so these are all objects whose own labels the policy selects.
reselections(key) := {[policy, objects_there] |
	namespace := {"core/Namespace": keys.parse(key).name, "gateway.networking.k8s.io/ReferenceGrant": keys.parse(key).namespace}[keys.type_of(key)]
	some type in (_types_selected(["namespaces"]) | object.keys(levels.by_type))
	some [policy, text] in _policies_selecting_in(namespace, type)
	_may_reselect(text, keys.type_of(key))
	objects_there := _with_labels(namespace, type, text)
	count(objects_there) > 0
} if {
	keys.type_of(key) in {"core/Namespace", "gateway.networking.k8s.io/ReferenceGrant"}
} else := {[policy, {gateway}] |
	count(_types_selected(["gateways", "controllers"])) > 0
	some gateway in index.declared_children(key)
	some [policy, text] in _policies_selecting_in(keys.namespace(gateway), keys.type_of(gateway))
	policies.reads_controllers(text)
	policies.selects_by_labels(text, gateway)
} if {
	keys.type_of(key) == "gateway.networking.k8s.io/GatewayClass"
} else := set()

_policies_selecting_in(namespace, type) := policies.policies_selecting(namespace, type) | policies.policies_selecting(policies.any_namespace, type)

# The types whose objects some kind's policies select by such a property, too. Most clusters have no such kind.
_types_selected(path) := {type |
	some kind, _ in kinds.sets.selecting
	some entry in kinds.get(kind).selectors
	object.get(entry, path, false)
	some type in entry.types
}

# Policies with the same selector share the result.
_with_labels(namespace, type, text) := {object_key |
	some name, _ in lookup.objects_in(type, namespace)
	object_key := concat("/", [type, namespace, name])
	policies.selects_by_labels(text, object_key)
}
