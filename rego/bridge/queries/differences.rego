package bridge.queries

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.scopes

# The effective policies at scopes, by policy kind, target, source and path as JSON text. The sources are those with a
# difference, including "", or the source of the input, as "" (semantics P6).
effective_at(targets_by_kind) := {kind: by_target |
	some kind, targets in targets_by_kind
	by_target := {target: _by_source(kind, target) | some target in targets; hierarchy.canonical_key(target) == target}
}

_by_source(kind, target) := {} if {
	not _acts_at(kind, target)
} else := {"": _by_path(kind, target, input.sourceNamespace)} if {
	object.get(input, "sourceNamespace", "") != ""
} else := {source: _by_path(kind, target, source) | some source in engine.differing_sources(kind, target)}

_acts_at(kind, target) if {
	kinds.get(kind)
	scopes.acts_at(kind, target)
}

_by_path(kind, target, source) := {json.marshal(entry.path): object.remove(entry, ["path"]) |
	some entry in engine.policies_of(kind, target, source)
}

# The differences between the effective policies before and after a change. A difference for one source only has that
# source as `sourceNamespace`.
differences(befores, afters) := [object.union(difference, {"sourceNamespace": source | source != ""}) |
	some [kind, target] in sort({[kind, target] | some effective in [befores, afters]; some kind; some target, _ in effective[kind]})
	at_before := object.get(befores, [kind, target], {})
	at_after := object.get(afters, [kind, target], {})
	some source in sort({source | some at_target in [at_before, at_after]; some source, _ in at_target})
	paths_before := _of_source(at_before, source)
	paths_after := _of_source(at_after, source)
	some path in sort(object.keys(paths_before) | object.keys(paths_after))
	before := object.get(paths_before, path, null)
	after := object.get(paths_after, path, null)
	before != after
	not _differs_for_all(at_before, at_after, source, path)
	difference := {"target": target, "policyKind": kind, "path": json.unmarshal(path), "before": before, "after": after}
]

# A source without its own entry has the policies that are the same for all.
_of_source(at_target, source) := object.get(at_target, source, object.get(at_target, "", {}))

_differs_for_all(at_before, at_after, source, path) if {
	source != ""
	every at_target in [at_before, at_after] {
		object.get(at_target, ["", path], null) == object.get(_of_source(at_target, source), path, null)
	}
}
