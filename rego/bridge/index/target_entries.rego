package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   What a policy declares, as entries of `data.index` (see `links`). Every object with target refs
#   declares them, whether its kind is a known policy kind or not, so that a new PolicyKind relinks nothing.
target_entries(obj) := set() if {
	not _targets(obj)
} else := _oversized_entries(obj, excess(obj)) if {
	true
} else := union({
	_selector_entries(obj),
	{{"path": ["attached", type, ref.key], "value": true} | some ref in targets},
	{{"path": ["targeted", ref.object], "value": true} | some ref in targets},
	{{"path": ["limited", type], "value": true} | targets[_].class},
	{{"path": ["referrers", namespace], "value": true} | some namespace in others},
}) if {
	type := keys.type_of(keys.of(obj))
	targets := target_refs(obj)
	others := {split(ref.object, "/")[2] | some ref in targets} - {"-", object.get(obj.metadata, "namespace", "-")}
}

# A policy above a bound takes no part (semantics T6). It is found at itself, and for `explain` at its first targets.
_oversized_entries(obj, message) := {{"path": ["oversized", key], "value": message} |
	namespace := object.get(obj.metadata, "namespace", "")
	first := {ref.object | some raw in array.slice(raw_refs(obj), 0, _first_refs); ref := target_ref(namespace, raw)}
	some key in (first | {keys.of(obj)})
}

_first_refs := 16

# Most objects have none, and are not looked at further.
_targets(obj) if obj.spec.targetRefs

_targets(obj) if obj.spec.targetRef

_targets(obj) if obj.spec.targetSelectors

_selector_entries(policy) := {{"path": ["selectors", namespace, selector.type, selector.text], "value": true} |
	namespace := object.get(policy.metadata, "namespace", "-")
	some selector in target_selectors(policy)
	not selector.flaw
}
