package bridge.admission

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.scopes
import data.bridge.status as reporting

# METADATA
# description: How many objects below each target of a policy are looked at, so that a request waits for so many and no more.
sample_bound := 100

# METADATA
# description: What the reviewed policy would change, as sentences.
effects := effect_sentences(after, before) if {
	obj := reviewed_object
	key := keys.of(obj)
	after := sampled(key) with input as {"changes": {"upsert": [obj]}}
	before := _before(key)
}

_before(policy_key) := found if {
	input.operation == "UPDATE"
	found := sampled(policy_key) with input as {}
} else := {}

# METADATA
# description: |
#   What becomes of a policy where it acts, `{policy, whole, empty, outcomes, overridden}`: `outcomes` has the outcomes and who
#   decides them by object, `overridden` the objects where it overrides another policy, by that one. Where `whole` is false
#   there are more objects than these; `empty` says that there is nothing that the policy reaches.
sampled(policy_key) := {
	"policy": policy_key,
	"whole": found.whole,
	"empty": empty,
	"outcomes": {object_key: reached |
		some object_key, rows in by_object
		reached := {[row.outcome, row.by] | some row in rows; row.policy == policy_key}
		count(reached) > 0
	},
	"overridden": {other: objects |
		some other in {row.policy | some rows in by_object; some row in rows; row.policy != policy_key}
		objects := {object_key | some object_key, rows in by_object; some row in rows; _loses_to(row, other, policy_key)}
		count(objects) > 0
	},
} if {
	kinds.of_policy(policy_key)
	found := scopes.reached_in_part(policy_key, sample_bound)
	by_object := {object_key: rows |
		some object_key in {keys.parse(scope).object | some scope in found.scopes}
		rows := [row |
			some scope in found.scopes
			keys.parse(scope).object == object_key
			some row in outcomes.at_target(keys.parse(policy_key).type, scope)
		]
	}
	empty := [message |
		count(found.scopes) == 0
		found.whole
		reporting.accepted(policy_key).status == "True"
		message := trim_prefix(reporting.outcome_message(policy_key, "Programmed", []), "Policy ")
	]
}

# A row names who decides by `<namespace>/<name>` with what decided after it.
_loses_to(row, policy, winner) if {
	row.policy == policy
	row.outcome in {"Overridden", "PartiallyProgrammed"}
	some by in row.by
	regex.split(`[ ,]`, by)[0] == keys.short(winner)
}
