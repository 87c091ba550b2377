package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The target refs of a policy object in order: spec.targetRefs, or the singular spec.targetRef (semantics T1). `key`
#   is the declared target as written, `class` the historic className, if the ref has one. Refs that cannot name any
#   object are omitted; `ref_flaw` gives the reason.
target_refs(policy) := [ref |
	namespace := object.get(policy.metadata, "namespace", "")
	some raw in raw_refs(policy)
	ref := target_ref(namespace, raw)
]

# METADATA
# description: One target ref of a policy of a namespace; undefined if the ref is invalid.
target_ref(own_namespace, raw) := object.union(ref, {"class": class | class := named.className; class != ""}) if {
	named := _names(raw)
	target := keys.format(named.group, named.kind, _ref_namespace(own_namespace, named), named.name)
	ref := {
		"object": target,
		"section": named.sectionName,
		"key": _with_section(target, named.sectionName),
	}
}

# METADATA
# description: The target refs as in the policy object.
raw_refs(policy) := policy.spec.targetRefs if {
	is_array(policy.spec.targetRefs)
	count(policy.spec.targetRefs) > 0
} else := [policy.spec.targetRef] if {
	policy.spec.targetRef != null
}

# The names in a ref, empty if absent or null. Undefined for a ref that cannot name any object: a name that is not a
# string (concat accepts only strings), or that has separators of keys, which would make it another key.
_names(raw) := named if {
	named := object.union(_no_names, raw)
	_name_something(named)
} else := named if {
	named := object.union(_no_names, {field: value | some field, value in raw; value != null})
	_name_something(named)
}

_name_something(named) if {
	plain := concat(" ", [named.kind, named.namespace, named.name])
	not contains(plain, "/")
	not regex.match(`[#@]`, concat(" ", [plain, named.group, named.sectionName, named.className]))
	not startswith(named.group, "/")
	not "" in {named.kind, named.name}
}

_no_names := {"group": "", "kind": "", "namespace": "", "name": "", "sectionName": "", "className": ""}

_with_section(target, "") := target

_with_section(target, section) := keys.section(target, section) if section != ""

# A ref without a namespace names an object of the policy's own namespace, or a cluster-scoped one.
_ref_namespace(own_namespace, named) := named.namespace if {
	named.namespace != ""
} else := "" if {
	named.kind in {"Namespace", "GatewayClass"}
	concat("/", [keys.group_name(named.group), named.kind]) in {
		"core/Namespace",
		"gateway.networking.k8s.io/GatewayClass",
	}
} else := own_namespace
