# METADATA
# title: Attachment
# description: |
#   Which policies are attached to which nodes. A declared target is what a ref names (GEP-713, "The targetRefs
#   stanza"); whether a ref is accepted is decided per ref (semantics T1 to T5).
package bridge.attachment

import data.bridge.lib.keys

# METADATA
# description: |
#   The target refs of a policy in its order: spec.targetRefs, or the singular spec.targetRef (semantics T1).
#   `key` is the declared target as written.
refs(policy) := [ref |
	some raw in _raw_refs(policy)
	is_object(raw)
	target := keys.format(object.get(raw, "group", ""), raw.kind, _ref_namespace(policy, raw), raw.name)
	section := object.get(raw, "sectionName", "")
	ref := {
		"object": target,
		"section": section,
		"key": _with_section(target, section),
	}
]

_raw_refs(policy) := policy.spec.targetRefs if is_array(policy.spec.targetRefs)

_raw_refs(policy) := [policy.spec.targetRef] if {
	not policy.spec.targetRefs
	is_object(policy.spec.targetRef)
}

_with_section(target, "") := target

_with_section(target, section) := keys.section(target, section) if section != ""

# A ref without a namespace names an object of the policy's own, or a cluster-scoped one.
_ref_namespace(_, raw) := raw.namespace if object.get(raw, "namespace", "") != ""

_ref_namespace(policy, raw) := "" if {
	object.get(raw, "namespace", "") == ""
	_names_cluster_scoped(policy, raw)
}

_ref_namespace(policy, raw) := object.get(policy.metadata, "namespace", "") if {
	object.get(raw, "namespace", "") == ""
	not _names_cluster_scoped(policy, raw)
}

_names_cluster_scoped(_, raw) if {
	concat("/", [keys.group_name(object.get(raw, "group", "")), raw.kind]) in {
		"core/Namespace",
		"gateway.networking.k8s.io/GatewayClass",
	}
}

# METADATA
# description: |
#   What a policy declares, as entries of `data.index` (see `bridge.hierarchy.links`). Every object with target refs
#   declares them, whether its kind is a known policy kind or not, so that a new PolicyKind relinks nothing.
entries(obj) := ({{"path": ["attached", type, ref.key], "value": true} | some ref in refs(obj)} | {{"path": ["targeted", ref.object], "value": true} | some ref in refs(obj)}) | {{"path": ["referrers", namespace], "value": true} |
	some ref in refs(obj)
	namespace := keys.parse(ref.object).namespace
	not namespace in {"-", object.get(obj.metadata, "namespace", "-")}
} if {
	type := concat("/", [keys.group(obj.apiVersion), obj.kind])
}
