package bridge.queries

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.scopes

# The effective policies at scopes, by policy kind, target, source and path as JSON text. The sources are those with a
# difference, including "", or the source of the input, as "" (semantics P6).
effective_at(targets_by_kind) := {kind: by_target |
	some kind, targets in targets_by_kind
	by_target := {target: by_source |
		some target in targets
		hierarchy.canonical_key(target) == target
		by_source := {name: by_path |
			kinds.get(kind)
			scopes.acts_at(kind, target)
			some [name, namespace] in array.concat(
				[["", source] | source != ""],
				[[other, other] | source == ""; some other in engine.differing_sources(kind, target)],
			)
			by_path := {json.marshal(entry.path): object.remove(entry, ["path"]) |
				some entry in engine.policies_of(kind, target, namespace)
			}
		}
	}
}

# The differences that the changes of the input make at its scopes, or those from the effective policies `before` of
# another OPA. One evaluation with another input for all scopes, because each evaluation drops the cached results of the
# previous one. The scopes are bound outside it.
differences_by_changes := _differences(input.before, effective_at(input.scopes)) if {
	input.before
} else := _differences(before, effective_at(scopes_compared)) if {
	scopes_compared := input.scopes
	before := effective_at(scopes_compared) with input as object.remove(input, ["changes"])
}

# The effective targets of the policy of the input, and the differences if it were deleted: `{policy, policyKind, scopes,
# counts, ifDeleted}`. `counts` has the number of scopes, also by outcome (one path each), and of compared ones. Scopes
# beyond the limit may have no path that counts.
impact := {
	"policy": input.policy,
	"policyKind": kind,
	"scopes": affected,
	"counts": {"scopes": count(affected), "compared": count(acting), "outcomes": outcomes},
	"ifDeleted": [object.remove(difference, ["policyKind"]) | some difference in _differences(before, after)],
} if {
	kind := keys.type_of(input.policy)
	reachable := sort(scopes.reachable_scopes(input.policy))
	counted := {target | some target in scopes.without_whole_objects(kind, reachable)}
	limit := object.get(input, "limit", 1000)
	compared := {kind: array.slice(reachable, 0, limit)}
	before := effective_at(compared)
	on_paths := [[target, policy.outcome] |
		some target, by_source in before[kind]
		target in counted
		some name, by_path in by_source
		some path, entry in by_path

		# Paths that a source shares with all sources are counted for all.
		_is_own(name, entry, object.get(by_source, ["", path], null))
		some policy in entry.policies
		policy.policy == input.policy
	]
	acting := {target | some [target, _] in on_paths}
	beyond := [target | some target in array.slice(reachable, limit, count(reachable)); target in counted]
	affected := array.concat(sort(acting), beyond)
	names := ["Programmed", "PartiallyProgrammed", "Overridden"]
	outcomes := {name: count([1 | some [_, outcome] in on_paths; outcome == name]) | some name in names}
	changes := {
		"upsert": [obj | some obj in object.get(input, ["changes", "upsert"], []); keys.of(obj) != input.policy],
		"delete": array.concat(object.get(input, ["changes", "delete"], []), [input.policy]),
	}
	after := effective_at(compared) with input as object.union(input, {"changes": changes})
}

# The value of a source, "" for all of them, is not merely the value for all.
_is_own("", _, _)
_is_own(_, own, for_all) if own != for_all

# The differences between the effective policies before and after a change, for each path `{target, policyKind, path,
# before, after}`; null without a policy or target. A difference for one source only has that source as
# `sourceNamespace`, and one of overridden policies alone has `sameFields`. A source without its own entry has the policies that are the same for all.
_differences(befores, afters) := [object.union_n([difference, {"sourceNamespace": name | name != ""}, {"sameFields": true | _has_same_fields(before, after)}]) |
	some [kind, target] in sort({[kind, target] | some effective in [befores, afters]; some kind; some target, _ in effective[kind]})
	at_before := object.get(befores, [kind, target], {})
	at_after := object.get(afters, [kind, target], {})
	some name in sort(object.keys(at_before) | object.keys(at_after))
	paths_before := object.get(at_before, name, object.get(at_before, "", {}))
	paths_after := object.get(at_after, name, object.get(at_after, "", {}))
	some path in sort(object.keys(paths_before) | object.keys(paths_after))
	before := object.get(paths_before, path, null)
	after := object.get(paths_after, path, null)
	before != after
	for_all := [object.get(at_target, ["", path], null) | some at_target in [at_before, at_after]]
	_is_own(name, [before, after], for_all)
	difference := {"target": target, "policyKind": kind, "path": json.unmarshal(path), "before": engine.as_asked(before), "after": engine.as_asked(after)}
]

_has_same_fields(before, after) if {
	is_object(before)
	is_object(after)
	object.remove(before, ["policies"]) == object.remove(after, ["policies"])
}
