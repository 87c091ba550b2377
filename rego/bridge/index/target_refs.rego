package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The target refs of a policy object in its order: spec.targetRefs, or the singular spec.targetRef (semantics T1).
#   `key` is the declared target as written, `class` the historic className, where the ref has one. What names nothing
#   that could exist is left out here; `ref_flaw` says why.
target_refs(policy) := [ref |
	namespace := object.get(policy.metadata, "namespace", "")
	some raw in raw_refs(policy)
	ref := target_ref(namespace, raw)
]

# METADATA
# description: One target ref of a policy of a namespace; undefined where the ref has a flaw.
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
# description: The target refs as a policy object has them.
raw_refs(policy) := policy.spec.targetRefs if {
	is_array(policy.spec.targetRefs)
	count(policy.spec.targetRefs) > 0
} else := [policy.spec.targetRef] if {
	policy.spec.targetRef != null
}

# The names in a ref, empty where one is absent or null. Undefined for what names nothing that could exist: a name that
# is no text (concat takes no other), or that has a key's own marks, which would make it another key.
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

# A ref without a namespace names an object of the policy's own, or a cluster-scoped one.
_ref_namespace(own_namespace, named) := named.namespace if {
	named.namespace != ""
} else := "" if {
	named.kind in {"Namespace", "GatewayClass"}
	concat("/", [keys.group_name(named.group), named.kind]) in {
		"core/Namespace",
		"gateway.networking.k8s.io/GatewayClass",
	}
} else := own_namespace
