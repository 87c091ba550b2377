package bridge.index

import data.bridge.lib.keys

# METADATA
# description: |
#   The declarations of a policy, as fields of `links`. Every object with target refs has them, whether its kind is a
#   known policy kind or not, so a new PolicyKind relinks nothing.
target_links(obj) := {} if {
	not is_object(obj.spec)
} else := {} if {
	count(object.filter(obj.spec, target_fields)) == 0
} else := {"oversized": _oversized(obj, excess(obj))} if {
	true
} else := object.union_n([
	{"targets": targets | targets := {ref.key | some ref in refs}; count(targets) > 0},
	{"classes": true | refs[_].class},
	{"selectors": selectors |
		selectors := {[selector.namespace, selector.type, selector.text] | some selector in target_selectors(obj); not selector.flaw}
		count(selectors) > 0
	},
]) if {
	refs := target_refs(obj)
}

# A policy above a bound has no effect (semantics T6). It is stored at itself, and for `explain` at its first targets.
_oversized(obj, message) := {"message": message, "objects": ({keys.of(obj)} | {ref.object |
	namespace := object.get(obj.metadata, "namespace", "")
	some raw in array.slice(raw_refs(obj), 0, _first_refs)
	ref := target_ref(namespace, raw)
})}

_first_refs := 16

# METADATA
# description: The fields of a spec that name targets. Most objects have none of them, and are not read further.
target_fields := ["targetRefs", "targetRef", "targetSelectors"]
