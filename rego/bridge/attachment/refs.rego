# METADATA
# title: Attachment
# description: |
#   Which policies are attached to which nodes. A declared target is what a ref names (GEP-713, "The targetRefs
#   stanza"); whether a ref is accepted is decided per ref (semantics T1 to T5).
package bridge.attachment

import data.bridge.effective
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy

# METADATA
# description: The refs by name of a replicated policy; see `refs`. None of a policy above a bound (semantics T6).
named(policy_key) := effective.facts(policy_key).refs if {
	true
} else := [] if {
	policy.oversized(policy_key)
} else := refs(lookup.get(policy_key))

# METADATA
# description: All targets of a replicated policy as refs, those that it names and those that it selects.
declared(policy_key) := [] if {
	policy.oversized(policy_key)
} else := named(policy_key) if {
	not lookup.get(policy_key).spec.targetSelectors
} else := array.concat(named(policy_key), [ref |
	some selector in selectors(lookup.get(policy_key))
	some ref in selected_refs(policy_key, selector.type, selector.text)
])

# METADATA
# description: |
#   The target refs of a policy object in its order: spec.targetRefs, or the singular spec.targetRef (semantics T1).
#   `key` is the declared target as written, `class` the historic className, where the ref has one. What names nothing
#   that could exist is left out here, and told by `verdicts`.
refs(obj) := [ref |
	namespace := object.get(obj.metadata, "namespace", "")
	some raw in _raw_refs(obj)
	ref := _ref(namespace, raw)
]

_ref(own_namespace, raw) := object.union(ref, {"class": class | class := named.className; class != ""}) if {
	named := _names(raw)
	target := keys.format(named.group, named.kind, _ref_namespace(own_namespace, named), named.name)
	ref := {
		"object": target,
		"section": named.sectionName,
		"key": _with_section(target, named.sectionName),
	}
}

_raw_refs(obj) := obj.spec.targetRefs if {
	is_array(obj.spec.targetRefs)
	count(obj.spec.targetRefs) > 0
} else := [obj.spec.targetRef] if {
	obj.spec.targetRef != null
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

# METADATA
# description: |
#   What a policy declares, as entries of `data.index` (see `bridge.hierarchy.links`). Every object with target refs
#   declares them, whether its kind is a known policy kind or not, so that a new PolicyKind relinks nothing.
entries(obj) := set() if {
	not _targets(obj)
} else := _oversized_entries(obj, policy.excess(obj)) if {
	true
} else := union({
	selector_entries(obj),
	{{"path": ["attached", type, ref.key], "value": true} | some ref in targets},
	{{"path": ["targeted", ref.object], "value": true} | some ref in targets},
	{{"path": ["limited", type], "value": true} | targets[_].class},
	{{"path": ["referrers", namespace], "value": true} | some namespace in others},
}) if {
	type := keys.type_of(keys.of(obj))
	targets := refs(obj)
	others := {split(ref.object, "/")[2] | some ref in targets} - {"-", object.get(obj.metadata, "namespace", "-")}
}

# A policy above a bound takes no part (semantics T6). It is found at itself, and for `explain` at its first targets.
_oversized_entries(obj, message) := {{"path": ["oversized", key], "value": message} |
	namespace := object.get(obj.metadata, "namespace", "")
	first := {ref.object | some raw in array.slice(_raw_refs(obj), 0, _first_refs); ref := _ref(namespace, raw)}
	some key in (first | {keys.of(obj)})
}

_first_refs := 16

# Most objects have none, and are not looked at further.
_targets(obj) if obj.spec.targetRefs

_targets(obj) if obj.spec.targetRef

_targets(obj) if obj.spec.targetSelectors
