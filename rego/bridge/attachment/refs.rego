# METADATA
# title: Attachment
# description: |
#   Which policies are attached to which nodes. A declared target is what a ref names (GEP-713, "The targetRefs
#   stanza"); whether a ref is accepted is decided per ref (semantics T1 to T5).
package bridge.attachment

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: The target refs of a replicated policy; see `refs`.
declared(policy_key) := refs(lookup.get(policy_key))

# METADATA
# description: |
#   The target refs of a policy object in its order: spec.targetRefs, or the singular spec.targetRef (semantics T1).
#   `key` is the declared target as written.
refs(policy) := [ref |
	some raw in _raw_refs(policy)
	_is_ref(raw)
	target := keys.format(_text(raw, "group"), raw.kind, _ref_namespace(policy, raw), raw.name)
	section := _text(raw, "sectionName")
	ref := {
		"object": target,
		"section": section,
		"key": _with_section(target, section),
	}
]

# The historic className, which limits a ref to paths through one GatewayClass (semantics T1).
_limited_to_a_class(policy_key) if {
	some raw in _raw_refs(lookup.get(policy_key))
	_text(raw, "className") != ""
}

_raw_refs(policy) := policy.spec.targetRefs if {
	count(policy.spec.targetRefs) > 0
} else := [policy.spec.targetRef]

# What names nothing that could exist is no ref; a key's own marks in a name would make it another key.
_is_ref(raw) if {
	raw.kind != ""
	raw.name != ""
	named := concat(" ", [_text(raw, "kind"), _text(raw, "namespace"), _text(raw, "name")])
	not contains(named, "/")
	not regex.match(`[#@]`, concat(" ", [named, _text(raw, "group"), _text(raw, "sectionName")]))
}

# A field of a ref, empty where it is absent or null; undefined where it is no text.
_text(raw, field) := "" if {
	is_null(object.get(raw, field, null))
} else := raw[field] if {
	is_string(raw[field])
}

_with_section(target, "") := target

_with_section(target, section) := keys.section(target, section) if section != ""

# A ref without a namespace names an object of the policy's own, or a cluster-scoped one.
_ref_namespace(_, raw) := raw.namespace if _text(raw, "namespace") != ""

_ref_namespace(policy, raw) := "" if {
	_text(raw, "namespace") == ""
	_names_cluster_scoped(policy, raw)
}

_ref_namespace(policy, raw) := object.get(policy.metadata, "namespace", "") if {
	_text(raw, "namespace") == ""
	not _names_cluster_scoped(policy, raw)
}

_names_cluster_scoped(_, raw) if {
	concat("/", [keys.group_name(_text(raw, "group")), raw.kind]) in {
		"core/Namespace",
		"gateway.networking.k8s.io/GatewayClass",
	}
}

# METADATA
# description: |
#   What a policy declares, as entries of `data.index` (see `bridge.hierarchy.links`). Every object with target refs
#   declares them, whether its kind is a known policy kind or not, so that a new PolicyKind relinks nothing.
entries(obj) := {entry |
	type := concat("/", [keys.group(obj.apiVersion), obj.kind])
	some ref in refs(obj)
	some path in ({["attached", type, ref.key], ["targeted", ref.object]} | {["referrers", namespace] |
		namespace := keys.parse(ref.object).namespace
		not namespace in {"-", object.get(obj.metadata, "namespace", "-")}
	})
	entry := {"path": path, "value": true}
}
