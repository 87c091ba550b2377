package bridge.admission

import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.scopes
import data.bridge.status as reporting

# METADATA
# description: The maximum number of examined objects below each target of a policy, which limits the time of a request.
sample_bound := 100

# METADATA
# description: The effects of the reviewed policy, as sentences.
effects := effect_sentences(after, before) if {
	obj := reviewed_object
	key := keys.of(obj)
	after := sample_effects(key) with input as {"changes": {"upsert": [obj]}}
	before := _before(key)
}

_before(policy_key) := found if {
	input.operation == "UPDATE"
	found := sample_effects(policy_key) with input as {}
} else := {}

# METADATA
# description: |
#   The outcomes of a policy at its effective targets, `{policy, whole, empty, outcomes, overridden}`. `outcomes` has
#   the outcomes and the deciding policies by object, `overridden` the objects where it overrides another policy, by
#   that policy. `whole` is false if there are more objects than these; `empty` is true if the policy has no effective
#   target.
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
	found := scopes.sample_scopes(policy_key, sample_bound)
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
