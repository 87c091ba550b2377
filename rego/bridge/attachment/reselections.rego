package bridge.attachment

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   The objects that policies may select, or no longer select, because a Namespace or a GatewayClass changed, as
#   `[policy, objects]`: those in the Namespace, for policies that select by the labels of Namespaces too, and the Gateways
#   of the class, for policies that select those of named controllers (semantics T8). What the Namespace or class was
#   before is unknown, so these are all objects whose own labels the policy selects.
reselections(key) := {[policy, objects_there] |
	namespace := keys.parse(key).name
	some type in _types_selected("namespaces")
	some [policy, text] in _policies_selecting_in(namespace, type)
	policies.reads_namespaces(text)
	objects_there := _with_labels(namespace, type, text)
	count(objects_there) > 0
} if {
	keys.type_of(key) == "core/Namespace"
} else := {[policy, {gateway}] |
	count(_types_selected("controllers")) > 0
	some gateway in index.declared_children(key)
	some [policy, text] in _policies_selecting_in(keys.namespace(gateway), keys.type_of(gateway))
	policies.reads_controllers(text)
	policies.selects_by_labels(text, gateway)
} if {
	keys.type_of(key) == "gateway.networking.k8s.io/GatewayClass"
} else := set()

_policies_selecting_in(namespace, type) := policies.policies_selecting(namespace, type) | policies.policies_selecting(policies.any_namespace, type)

# The types whose objects some kind's policies select by such a property, too. Most clusters have no such kind.
_types_selected("namespaces") := {type |
	some kind in kinds.selecting_kinds
	some entry in kinds.get(kind).selectors
	entry.namespaces
	some type in entry.types
}

_types_selected("controllers") := {type |
	some kind in kinds.selecting_kinds
	some entry in kinds.get(kind).selectors
	entry.gateways.controllers
	some type in entry.types
}

# Policies with the same selector share the result.
_with_labels(namespace, type, text) := {object_key |
	some name, _ in lookup.objects_in(type, namespace)
	object_key := concat("/", [type, namespace, name])
	policies.selects_by_labels(text, object_key)
}
