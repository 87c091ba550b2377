package bridge.queries

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.scopes

# METADATA
# description: The effective policies at scopes, by policy kind, target and path as JSON text.
effective_at(targets_by_kind) := {kind: by_target |
	some kind, targets in targets_by_kind
	by_target := {target: _by_path(kind, target) | some target in targets; hierarchy.canonical_key(target) == target}
}

_by_path(kind, target) := {} if {
	not kinds.get(kind)
} else := {json.marshal(entry.path): object.remove(entry, ["path"]) |
	scopes.acts_at(kind, target)
	some entry in engine.policies_of(kind, target, object.get(input, "sourceNamespace", ""))
}

# METADATA
# description: What differs between the effective policies before and after a change.
differences(befores, afters) := [{"target": target, "policyKind": kind, "path": json.unmarshal(path), "before": before, "after": after} |
	some [kind, target] in sort({[kind, target] | some effective in [befores, afters]; some kind; some target, _ in effective[kind]})
	at_before := object.get(befores, [kind, target], {})
	at_after := object.get(afters, [kind, target], {})
	some path in sort(object.keys(at_before) | object.keys(at_after))
	before := object.get(at_before, path, null)
	after := object.get(at_after, path, null)
	before != after
]

# METADATA
# description: |
#   What is wrong with `scopes` of the input.
scopes_problem := error("InvalidInput", "scopes must be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}") if {
	not is_object(object.get(input, "scopes", null))
} else := error("InvalidInput", "scopes must be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}") if {
	some targets in input.scopes
	not is_array(targets)
}
