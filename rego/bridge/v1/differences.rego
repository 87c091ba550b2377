package bridge.v1

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.scopes

# METADATA
# description: |
#   `differences`: what `changes` would do to effective policies at `scopes` (`{policyKind: [targets]}`, as `concerned` gives
#   them): for each path on which something differs `{target, policyKind, path, before, after}`, each `{spec, origins, policies}`
#   or, without a policy (or target), null.
# entrypoint: true
differences := _input_problem if {
	_input_problem
} else := _scopes_problem if {
	_scopes_problem
} else := _differing(_told_before, _told_at(input.scopes))

# One evaluation with another input for all scopes: each would throw away what was computed for those before. They are bound
# outside it.
_told_before := before if {
	scopes := input.scopes
	before := _told_at(scopes) with input as object.remove(input, ["changes"])
}

# What `effective` tells at targets, by kind, target and path. A target that is not there has no paths.
_told_at(scopes) := {kind: by_target |
	some kind, targets in scopes
	by_target := {target: _by_path(kind, target) | some target in targets; hierarchy.canonical(target) == target}
}

_by_path(kind, target) := {} if {
	not kinds.get(kind)
} else := {json.marshal(entry.path): object.remove(entry, ["path"]) |
	scopes.acts_at(kind, target)
	some entry in engine.at(kind, target, object.get(input, "sourceNamespace", ""))
}

_differing(befores, afters) := [{"target": target, "policyKind": kind, "path": json.unmarshal(path), "before": before, "after": after} |
	some [kind, target] in sort({[kind, target] | some told in [befores, afters]; some kind; some target, _ in told[kind]})
	at_before := object.get(befores, [kind, target], {})
	at_after := object.get(afters, [kind, target], {})
	some path in sort(object.keys(at_before) | object.keys(at_after))
	before := object.get(at_before, path, null)
	after := object.get(at_after, path, null)
	before != after
]

_scopes_problem := _error("InvalidInput", "scopes must be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}") if {
	not is_object(object.get(input, "scopes", null))
} else := _error("InvalidInput", "scopes must be lists of keys by policy kind, {<group>/<Kind>: [<keys>]}") if {
	some targets in input.scopes
	not is_array(targets)
}
