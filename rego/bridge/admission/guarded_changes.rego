package bridge.admission

import data.bridge.constraints
import data.bridge.constraints.by_target
import data.bridge.effective_targets
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies
import data.bridge.queries

# The objects that one query judges. The bridge judges the others in further ones, until a new violation denies the
# request or its time is over.
object_bound := 100

_shown := 5 # messages of one action

# METADATA
# description: |
#   The objects of which the query's change of `input.keys` may alter what is in effect, or that are below such an object.
concerned_objects := {below |
	some key in _changed_above
	some below in hierarchy.objects_below(key)
} | {policy | some policy in queries.dependents.policies}

_changed_above := union({
	{keys.object_of(target) | some targets in queries.dependents.scopes; some target in targets},
	{key | some key in queries.dependents.objects},
	# What a policy above a bound names, or named, is unknown there.
	{named | some policy in input.keys; policies.excess(policy); some named in index.links(lookup.get(policy)).oversized.objects},
	{named | some policy in input.keys; some ["oversized", named] in input.was[policy]},
})

# METADATA
# description: |
#   The messages of guardrails about an AdmissionRequest, as `[action, message]`: the violations that exist after the
#   request and not before. `dryrun` has none. Objects of a namespace that is being deleted may always go.
guardrail_messages := set() if {
	guardrails == set()
} else := set() if {
	remaining
} else := _messages_about(_introduced, unloaded)

# METADATA
# description: |
#   What this query does not judge of the request: the sorted `objects`, for these `constraints`, with the `changes` and the
#   violations that are `introduced` elsewhere. Undefined if that is nothing, or if a violation denies the request anyway.
#   With `describes` there are only the `constraints`: the request changes what all policies of a kind mean.
remaining := {"constraints": sort(guardrails), "describes": true} if {
	describes
	guardrails != set()
} else := {
	"constraints": sort(guardrails),
	"objects": _after.rest,
	"changes": change,
	"introduced": _introduced,
} if {
	guardrails != set()
	_after.rest != []
	not _is_denied
}

# METADATA
# description: |
#   The request changes what policies of a kind mean: a PolicyKind, or a CRD that may have objects. A deleted CRD takes its
#   objects along, which is a change of these.
describes if keys.type_of(_changed_key) == kinds.policykind_type

describes if {
	keys.type_of(_changed_key) == kinds.crd_type
	input.operation == "UPDATE"
}

_is_denied if {
	some row in _introduced
	row.enforcementAction == "deny"
}

# METADATA
# description: The violations by these objects that the request introduces.
introduced_among(object_keys) := found if {
	asked := object.union(input, {"judgedObjects": object_keys})
	found := _introduced with input as asked
}

# METADATA
# description: |
#   The same messages, of a query whose guardrails were judged elsewhere: `introduced` are the violations, `unjudged` why
#   the others have none, by Constraint. Without them, no guardrail could be judged.
messages_of_judged := found if {
	rows := input.introduced
	unjudged := input.unjudged
	request := input.request
	found := _messages_about(rows, object.union(_unloaded_guardrails, unjudged)) with input as request
} else := found if {
	request := input.request
	found := _messages_about(set(), _none_judged) with input as request
}

_none_judged := {name: "is not judged: OPA could not compute it" | some name in guardrails}

# What is not judged is denied as a violation is, unless the Constraint says otherwise. `elsewhere` are Constraints that
# were judged in other queries, with the reason.
_messages_about(rows, elsewhere) := set() if {
	[count(rows), count(elsewhere), count(_unread)] == [0, 0, 0]
} else := {[action, text] | some action in {"deny", "warn"}; some text in _listed(rows, action)} | {[action, text] |
	some name, why in unjudged
	action := constraints.unjudged_action(name)
	text := sprintf("[%s] %s%s", [name, why, _way_out_of(action)])
} if {
	unjudged := object.union(_unread, elsewhere)
}

# METADATA
# description: |
#   The Constraints that would judge an object of the request, if OPA had their guardrail: that arrives a moment after the
#   first Constraint that names it. With the reason why they do not.
unloaded := {name: why | some row in _after.rows; name := row.constraint; why := _unloaded_guardrails[name]}

_unloaded_guardrails := {name: sprintf("is not judged: policy %s is not loaded", [policy]) |
	some name in guardrails
	policy := constraints.active_constraints[name].policy
	not constraints.is_loaded(policy)
}

# The Constraints that may judge what the written policy sets, with the reason why it cannot be read.
_unread := {name: sentence_about(_changed_key, sprintf("is not judged: %s", [unread_because])) |
	unread_because
	some name in guardrails
	_may_read(constraints.active_constraints[name], keys.type_of(_changed_key))
}

_may_read(spec, _) if not _shipped[spec.policy]

_may_read(spec, _) if constraints.kinds_in_parameters(spec) == set()
_may_read(spec, policy_kind) if policy_kind in constraints.kinds_in_parameters(spec)

_way_out_of("deny") := "; to admit what is not judged, set failurePolicy: Ignore in the Constraint"

_way_out_of("warn") := ""

# METADATA
# description: The Constraints of guardrails that decide about the request.
guardrails := {name |
	some name, spec in constraints.active_constraints
	constraints.is_guardrail(spec.policy)
	constraints.action(spec) != "dryrun"
	_is_guarded
}

_is_guarded if {
	_changed_key
	not _leaves_with_its_namespace
}

_changed_key := keys.of(written_object) if {
	true
} else := keys.of(input.oldObject) if {
	input.operation == "DELETE"
}

# What the API server deletes together with deleted objects: the objects in a Namespace, or of the kind of a CRD.
_taken_along := union({lookup.taken_along(key) | some key in change.delete})

# The change of the request, in the form of a query's.
_requested := {"delete": [_changed_key]} if {
	input.operation == "DELETE"
} else := {"upsert": [written_object]}

# METADATA
# description: |
#   The same, together with `input.admitted`: the changes that were admitted a moment ago, and that OPA may not have yet.
change := {part: array.concat(object.get(_admitted, part, []), object.get(_requested, part, [])) | some part in object.keys(object.union(_admitted, _requested))}

_admitted := object.get(input, "admitted", {})

_admitted_keys := {key | some key in _admitted.delete} | {keys.of(obj) | some obj in _admitted.upsert}

# METADATA
# description: |
#   The change of the request alone, if guardrails may answer other requests differently after it.
guarded_change := _requested if {
	guardrails != set()
	_may_concern_others
}

_may_concern_others if describes

_may_concern_others if {
	not describes
	_concerns_objects
}

_concerns_objects if _before.concerns

_concerns_objects if _after.concerns

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
} else := {"objects": set(), "rest": [], "rows": set(), "concerns": false}

_sampled := {"sampled": key | key := keys.of(reviewed_object); not input.judgedObjects}

_asked := object.union(
	{"keys": array.concat([_changed_key], sort(_taken_along | _admitted_keys)), "was": {}, "names": guardrails, "matches": matches, "identified": true},
	{"only": object_keys | object_keys := input.judgedObjects},
) if {
	count(guardrails) > 0
	not _is_without_effect
	matches := {object.get(constraints.active_constraints[name], "match", {}) | some name in guardrails}
}

_state := {"objects": found, "concerns": _has_effects(all), "rest": rest, "targets": targets, "refs": refs, "rows": rows, "steps": steps, "sample": sample, "assessed": assessed_there} if {
	sample := [effects | not input.changes; effects := sample_effects(input.sampled)]
	assessed_there := [found | input.changes; found := assess(input.sampled)]
	refs := [[policies.declared_refs(key), object.get(lookup.get(key).metadata, "labels", {})] | some key in input.keys; kinds.of_policy(key)]
	all := _objects_to_judge(refs)
	types_there := {type |
		some type in {keys.type_of(key) | some key in all}
		some match in input.matches
		constraints.matches_type(match, type)
	}
	found := {key | some key in all; keys.type_of(key) in types_there}
	ordered := sort(found)
	judged := array.slice(ordered, 0, object_bound)
	rest := array.slice(ordered, object_bound, count(ordered))
	targets := {key: effective_targets.at(key) | not input.changes; some key in judged}
	rows := {row |
		input.changes
		some [names, object_keys] in [[input.names & _pure, {key | some key in judged; not _keeps_targets(key)}], [input.names - _pure, judged]]
		some row in constraints.violations(names, object_keys)
	}
	steps := {row.constraint: step | some row in rows; step := constraints.fixed_steps[row.constraint]}
}

# Policies and what they act at are among the objects.
_has_effects(object_keys) := count((object.keys(levels.by_type) | kinds.names) & types_there) > 0 if {
	types_there := {keys.type_of(key) | some key in object_keys}
}

_objects_to_judge(_) := {key | some key in input.only} if {
	input.only
}

_objects_to_judge(refs) := object.get(input, "others", set()) | _concerned_with(refs) if not input.only

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

# An update of most annotations, for example, of an object that is no policy. Of a policy the policy kind may read any field.
_is_without_effect if {
	input.operation == "UPDATE"
	not kinds.get(keys.type_of(_changed_key))
	not index.has_extension_links
	_effective_parts(input.oldObject) == _effective_parts(written_object)
	not _changes_an_annotation
}

_changes_an_annotation if {
	former := object.get(input.oldObject.metadata, "annotations", {})
	latter := object.get(written_object.metadata, "annotations", {})
	former != latter
	some name in (kinds.annotations_of_targets | {hierarchy.matches_annotation})
	object.get({"": former}, ["", name], null) != object.get({"": latter}, ["", name], null)
}

_effective_parts(obj) := [object.remove(obj, ["metadata", "status"]), object.filter(obj.metadata, ["labels", "deletionTimestamp"])]

# Only violations that the request introduces.
_introduced := constraints.introduced_in(before, after) if {
	after := {row | some row in _after.rows; not unloaded[row.constraint]}
	after != set()
	violating := {row.object | some row in after}
	targets := _before.targets
	active := constraints.active_constraints
	before := constraints.violations({row.constraint | some row in after}, violating) with input as {"targets_at": targets, "identified": true}
		with constraints.active_constraints as active
		with constraints.fixed_steps as _after.steps
} else := set()

# The violations with an action, at most as many as are shown, and for a denial what its reader can do.
_listed(rows, action) := array.flatten([
	array.slice(texts, 0, _shown),
	[sprintf("and %d more violations", [left]) | left > 0],
	[sprintf("judged together with changes that were admitted a moment ago: %s", [concat(", ", names_admitted)]) |
		texts != []
		names_admitted := array.slice(sort({keys.describe(key) | some key in _admitted_keys}), 0, _shown)
		names_admitted != []
	],
	[sprintf("ways out: %s; or an exemption, or enforcementAction: warn, in %s", [_way_out, concat(", ", sort(names))]) |
		action == "deny"
		texts != []
	],
]) if {
	found := [row | some row in rows; row.enforcementAction == action]
	texts := sort({sprintf("[%s] %s: %s%s", [row.constraint, keys.describe(row.object), row.message, _fault(row)]) | some row in found})
	names := {sprintf("Constraint/%s", [row.constraint]) | some row in found}
	left := count(texts) - _shown
}

_way_out := "first delete or move what needs it, or apply a policy that takes its place" if {
	input.operation == "DELETE"
} else := "correct the request, or first apply what it lacks"

# The policies at fault: those that the guardrail names, otherwise the one that the request writes or deletes.
_fault(row) := sprintf(" (because of %s)", [concat(", ", [keys.describe(policy) | some policy in at_fault])]) if {
	at_fault := _at_fault(row)
	at_fault != []
} else := ""

_at_fault(row) := sort(row.details.policies) if {
	count(row.details.policies) > 0
} else := [_changed_key] if {
	kinds.get(keys.type_of(_changed_key))
} else := []
