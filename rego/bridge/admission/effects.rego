package bridge.admission

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.scopes
import data.bridge.status as reporting

# The maximum number of examined objects below each target of a policy, which limits the time of a request.
_sample_bound := 100

# The differences between a policy's effects before and after the request, as sentences.
effects := {sentence_about(after.policy, text) | some text in array.concat(after.empty, array.slice(texts, 0, 4 * _sentence_bound))} if {
	some after in assessed_after.sample
	before := _samples_before(after.policy)
	texts := array.flatten([
		_loss_texts(after, "Overridden"),
		_loss_texts(after, "PartiallyProgrammed"),
		_gain_texts(after, before),
		_overrides(after, before),
	])
}

# The result of `assess` for the policy that the request writes, after it. Guardrails evaluate the same states, before and
# after it: once for both.
assessed_after := assessed if {
	true
} else := found if {
	obj := reviewed_object
	found := assess(keys.of(obj)) with input as {"changes": {"upsert": [obj]}}
}

_samples_before(key) := samples_before if {
	true
} else := [found | input.operation == "UPDATE"; found := sample_effects(key) with input as {}]

# The outcomes of a policy at its effective targets, `{policy, whole, empty, outcomes, overridden}`. `outcomes` has the
# outcomes and the deciding policies by object, `overridden` the objects where it overrides another policy, by that
# policy. `whole` is false if there are more objects than these; `empty` is true if the policy has no effective target.
sample_effects(policy_key) := {
	"policy": policy_key,
	"whole": whole,
	"empty": empty,
	"outcomes": {object_key: reached |
		some object_key, outcomes_there in by_object
		reached := {[outcome.outcome, outcome.by] | some outcome in outcomes_there; outcome.policy == policy_key}
		count(reached) > 0
	},
	"overridden": {other: objects |
		some other in {outcome.policy | some outcomes_there in by_object; some outcome in outcomes_there; outcome.policy != policy_key}
		objects := {object_key | some object_key, outcomes_there in by_object; some outcome in outcomes_there; _loses_to(outcome, other, policy_key)}
		count(objects) > 0
	},
} if {
	kinds.of_policy(policy_key)
	found := scopes.sample_scopes(policy_key, _sample_bound)
	sample := _within_paths_bound(sort(found.scopes))
	whole := {found.whole, count(sample) == count(found.scopes)} == {true}
	by_object := {object_key: outcomes_there |
		some object_key in {keys.parse(scope).object | some scope in sample}
		outcomes_there := [outcome |
			some scope in sample
			keys.parse(scope).object == object_key
			some outcome in outcomes.outcomes_at(keys.parse(policy_key).type, scope)
		]
	}
	empty := [message |
		count(found.scopes) == 0
		found.whole
		reporting.accepted_condition(policy_key).status == "True"
		message := trim_prefix(reporting.outcome_message(policy_key, "Programmed", []), "Policy ")
	]
}

# As many of the targets as a query can compute in time, by their number of paths.
_within_paths_bound(targets) := targets if {
	sum(_path_counts(targets)) <= hierarchy.paths_bound
} else := array.slice(targets, 0, max([1, floor(hierarchy.paths_bound / max(_path_counts(targets)))]))

_path_counts(targets) := [hierarchy.path_count(keys.whole(target)) | some target in targets]

# A row names the overriding policy as `<namespace>/<name>`, followed by the reason.
_loses_to(outcome, policy, winner) if {
	outcome.policy == policy
	outcome.outcome in {"Overridden", "PartiallyProgrammed"}
	some by in outcome.by
	regex.split(`[ ,]`, by)[0] == keys.short(winner)
}

# The maximum number of sentences of one form about one policy.
_sentence_bound := 3

# The objects where all its paths have one outcome, by the overriding policy.
_loss_texts(after, outcome) := array.slice(
	[sprintf("is %s%s on %s", [_verbs_of_loss[outcome], by, number]) |
		some deciders in sort({deciders | some reached in after.outcomes; deciders := _deciders(reached, outcome)})
		objects := {object_key | some object_key, reached in after.outcomes; _deciders(reached, outcome) == deciders}
		by := concat("", [sprintf(" by %s", [_names(deciders)]) | deciders != []])
		number := _share(objects, after)
	],
	0, _sentence_bound,
)

_verbs_of_loss := {"Overridden": "overridden", "PartiallyProgrammed": "partly overridden"}

_deciders(reached, "Overridden") := sort(by) if {
	{outcome[0] | some outcome in reached} == {"Overridden"}
	by := {name | some outcome in reached; some name in outcome[1]}
}

_deciders(reached, "PartiallyProgrammed") := sort(by) if {
	outcomes := {outcome[0] | some outcome in reached}
	count(outcomes & {"Programmed", "PartiallyProgrammed"}) > 0
	count(outcomes & {"Overridden", "PartiallyProgrammed"}) > 0
	by := {name | some outcome in reached; outcome[0] != "Programmed"; some name in outcome[1]}
}

# The objects where it has an effect that it did not have before, by namespace.
_gain_texts(after, before) := array.concat(
	[sprintf("becomes effective on %s%s", [_count(objects, after), where]) |
		some namespace in array.slice(namespaces, 0, _sentence_bound)
		objects := {object_key | some object_key in gained; keys.namespace(object_key) == namespace}
		where := concat("", [sprintf(" of namespace %s", [namespace]) | namespace != ""])
	],
	[sprintf("becomes effective in %d more namespaces", [left]) | left > 0],
) if {
	gained := _effective_on([after]) - _effective_on(before)
	namespaces := sort({keys.namespace(object_key) | some object_key in gained})
	left := count(namespaces) - _sentence_bound
}

_effective_on(samples) := {object_key |
	some sample in samples
	some object_key, reached in sample.outcomes
	some outcome in reached
	outcome[0] in {"Programmed", "PartiallyProgrammed"}
}

# The policies that it overrides and did not override before.
_overrides(after, before) := array.slice(
	[sprintf("overrides %s on %s", [keys.short(other), _count(objects, after)]) |
		some other, overridden in after.overridden
		objects := overridden - {object_key | some sample in before; some object_key in sample.overridden[other]}
		count(objects) > 0
	],
	0, _sentence_bound,
)

_names(names) := concat("", [concat(", ", array.slice(names, 0, _sentence_bound)), rest]) if {
	rest := concat("", [sprintf(" and %d more", [count(names) - _sentence_bound]) | count(names) > _sentence_bound])
}

_share(objects, after) := sprintf("%d of %s", [count(objects), _count(object.keys(after.outcomes), after)]) if after.whole
_share(objects, after) := _count(objects, after) if not after.whole

_count(objects, after) := sprintf("%s%d %s%s", [at_least, count(objects), noun, _ending(noun, count(objects))]) if {
	at_least := concat("", ["at least " | not after.whole])
	nouns := {_noun(keys.parse(object_key).kind) | some object_key in objects}
	noun := [noun | some noun in array.concat([one | [one] := [each | some each in nouns]], ["object"])][0]
}

_noun(kind) := "route" if endswith(kind, "Route")
_noun(kind) := lower(kind) if not endswith(kind, "Route")

_ending(_, 1) := ""

_ending(noun, number) := "es" if {
	number != 1
	endswith(noun, "s")
}

_ending(noun, number) := "s" if {
	number != 1
	not endswith(noun, "s")
}
