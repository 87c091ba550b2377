package bridge.admission

import data.bridge.constraints
import data.bridge.constraints.by_target
import data.bridge.effective_targets
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies
import data.bridge.queries

# The maximum number of objects that one request judges: a decision must be made within the webhook's budget.
object_bound := 200

_shown := 5 # messages of one action

# METADATA
# description: |
#   The objects of which the query's change of `input.keys` may alter what is in effect, or that are below such an object.
concerned_objects := {below |
	some key in _changed_above
	some below in hierarchy.objects_below(key)
} | {policy | some policy in queries.dependents.policies}

_changed_above := {keys.object_of(target) | some targets in queries.dependents.scopes; some target in targets} | {key | some key in queries.dependents.objects}

# METADATA
# description: |
#   The messages of guardrails about an AdmissionRequest, as `[action, message]`: the violations that exist after the
#   request and not before. `dryrun` has none. Objects of a namespace that is being deleted may always go.
guardrail_messages := _messages_about(_introduced, too_many(_after.objects))

# METADATA
# description: |
#   The same messages, of a query whose guardrails were judged alone: `introduced` are the violations, `unjudged` why the
#   others have none, by Constraint. Without them, no guardrail could be judged.
messages_of_judged := _messages_about(input.introduced, input.unjudged) if {
	input.introduced
} else := _messages_about(set(), unjudged) if {
	unjudged := _none_judged with input as input.request
}

_none_judged := {name: "is not judged: OPA could not compute it" | some name in guardrails}

_messages_about(rows, unjudged) := {[action, text] | some action in {"deny", "warn"}; some text in _listed(rows, action)} | {[action, text] |
	some name, why in unjudged
	action := {"Fail": "deny", "Ignore": "warn"}[object.get(constraints.active_constraints[name], "failurePolicy", "Ignore")]
	text := sprintf("[%s] %s", [name, why])
}

# METADATA
# description: The Constraints of guardrails that decide about the request.
guardrails := {name |
	_changed_key
	not _leaves_with_its_namespace
	some name, spec in constraints.active_constraints
	constraints.is_guardrail(spec.policy)
	constraints.action(spec) != "dryrun"
}

# METADATA
# description: Why guardrails cannot judge the request, by Constraint, if it `concerns` more objects than one request judges.
too_many(concerns) := {name: text |
	count(concerns) > object_bound
	some name in guardrails
	text := sprintf("the change concerns more than %d objects, which are not judged here: the audit reports them", [object_bound])
}

_changed_key := keys.of(written_object) if {
	true
} else := keys.of(input.oldObject) if {
	input.operation == "DELETE"
}

# METADATA
# description: The change of the request, in the form of a query's.
change := {"delete": [_changed_key]} if {
	input.operation == "DELETE"
} else := {"upsert": [written_object]}

_leaves_with_its_namespace if {
	input.operation == "DELETE"
	lookup.get(keys.format("", "Namespace", "", input.namespace)).metadata.deletionTimestamp
}

# METADATA
# description: The objects of which the request may alter what is in effect, and that a guardrail may match.
judged_objects := before | after if {
	asked := object.union(_asked, {"names": set()})
	changes := change
	active := constraints.active_constraints
	before := _state.objects with input as asked with constraints.active_constraints as active
	after := _state.objects with input as object.union(asked, {"changes": changes}) with constraints.active_constraints as active
} else := set()

# METADATA
# description: The result of `bridge.admission.assess` after the request. Undefined if no guardrail judges the request.
assessed := _after.assessed[0]

# METADATA
# description: A list with what the policy that the request writes did before an update, see `bridge.admission`.
samples_before := [found | input.operation == "UPDATE"; some found in before.sample] if before := _before

# What the request concerns before and after it: the objects, the targets at them before it, the targetRefs of the policy
# that it writes, the violations after it, and what that policy does. One evaluation each, because another input drops what
# OPA has cached.
_before := found if {
	asked := object.union(_asked, _sampled)
	active := constraints.active_constraints
	found := _state with input as asked with constraints.active_constraints as active
}

_after := found if {
	changed := {"changes": change, "others": _before.objects, "refs": _before.refs, "before": _before.targets}
	asked := object.union_n([_asked, _sampled, changed])
	active := constraints.active_constraints
	found := _state with input as asked with constraints.active_constraints as active
} else := {"objects": set(), "rows": set()}

_sampled := {"sampled": key | key := keys.of(reviewed_object)}

_asked := {"keys": [_changed_key], "was": {}, "names": guardrails, "matches": matches, "identified": true} if {
	count(guardrails) > 0
	not _is_without_effect
	matches := {object.get(constraints.active_constraints[name], "match", {}) | some name in guardrails}
}

_state := {"objects": found, "targets": targets, "refs": refs, "rows": rows, "steps": steps, "sample": sample, "assessed": assessed_there} if {
	sample := [effects | not input.changes; effects := sample_effects(input.sampled)]
	assessed_there := [found | input.changes; found := assess(input.sampled)]
	refs := [[policies.declared_refs(key), object.get(lookup.get(key).metadata, "labels", {})] | some key in input.keys; kinds.of_policy(key)]
	all := object.get(input, "others", set()) | _concerned_with(refs)
	types_there := {type |
		some type in {keys.type_of(key) | some key in all}
		some match in input.matches
		constraints.matches_type(match, type)
	}
	found := {key | some key in all; keys.type_of(key) in types_there}
	targets := {key: effective_targets.at(key) |
		not input.changes
		count(found) <= object_bound
		some key in found
	}
	rows := {row |
		input.changes
		count(found) <= object_bound
		some [names, judged] in [[input.names & _pure, {key | some key in found; not _keeps_targets(key)}], [input.names - _pure, found]]
		some row in constraints.violations(names, judged)
	}
	steps := {name: step | some {"constraint": name} in rows; step := constraints.fixed_steps[name]}
}

# The Constraints of guardrails that read nothing but targets.
_pure := {name | some name in input.names; _shipped[constraints.active_constraints[name].policy]}

_shipped := by_target.names - by_target.own

# Everything that is in effect at an object, and all labels that a match may read, are the same after the request. An object
# without targets, such as a Namespace, may violate a Constraint by its labels: where no entry of parameterSelection matches.
_keeps_targets(key) if {
	not kinds.of_policy(key)
	targets := effective_targets.at(key)
	targets != []
	targets == input.before[key]
}

# An update that leaves the targetRefs of a policy, `refs`, concerns the same objects after it.
_concerned_with(refs) := set() if {
	refs != []
	refs == input.refs
	not index.has_extension_links
} else := concerned_objects

# An update of annotations, for example, of an object that is no policy. Of a policy the policy kind may read any field.
_is_without_effect if {
	input.operation == "UPDATE"
	not kinds.get(keys.type_of(_changed_key))
	not index.has_extension_links
	_effective_parts(input.oldObject) == _effective_parts(written_object)
}

_effective_parts(obj) := [object.remove(obj, ["metadata", "status"]), object.filter(obj.metadata, ["labels", "deletionTimestamp"])]

# Of what is violated after the request, only what was not before it.
_introduced := constraints.introduced_in(before, after) if {
	after := _after.rows
	after != set()
	violating := {row.object | some row in after}
	targets := _before.targets
	active := constraints.active_constraints
	before := constraints.violations({row.constraint | some row in after}, violating) with input as {"targets_at": targets, "identified": true}
		with constraints.active_constraints as active
		with constraints.fixed_steps as _after.steps
} else := set()

_listed(rows, action) := array.concat(array.slice(texts, 0, _shown), [sprintf("and %d more violations", [left]) | left > 0]) if {
	texts := sort({sprintf("[%s] %s: %s", [row.constraint, keys.describe(row.object), row.message]) |
		some row in rows
		row.enforcementAction == action
	})
	left := count(texts) - _shown
}
