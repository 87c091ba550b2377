package bridge.status

import data.bridge.attachment
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.outcomes
import data.bridge.policy as policies

# METADATA
# description: |
#   The message of an outcome: the outcome of each declared target, if there are several, then one explanation for the
#   scopes with a common one, with the other policies by name and GEP-713's names of the strategies (semantics S1).
#   `set` is the set of conditions of the message.
outcome_message(policy_key, set, tallies) := _message(policy_key, set, _by_target(policy_key, set, tallies), _groups(set, tallies))

# Independent of objects beyond the limit: a change of them changes no scope, so it recomputes no status.
_message(policy_key, _, _, []) := sprintf("Policy has no effective target: there is no %s at or below its targets%s", [
	lower(kinds.of_policy(policy_key).effectiveTarget),
	_limit(policy_key),
]) if {
	not kinds.is_direct(keys.type_of(policy_key))
}

# A Direct policy acts at its targets, but at none that is not accepted or that other controllers serve.
_message(policy_key, _, _, []) := sprintf("Policy has no effective target: none of its targets is in effect%s", [_limit(policy_key)]) if {
	kinds.is_direct(keys.type_of(policy_key))
}

_limit(policy_key) := sprintf(" on a path through GatewayClass %s, to which className limits it", [concat(" or ", sort(classes))]) if {
	policy_kind := keys.parse(policy_key).type
	attachment.has_class_limits(policy_kind)
	classes := {class |
		some node in attachment.targets(policy_key)
		some class in attachment.limits(policy_kind, node)[policy_key]
	}
	count(classes) > 0
} else := sprintf(" below a Gateway of %s", [concat(" or ", sort(controllers))]) if {
	controllers := kinds.of_policy(policy_key).controllers
} else := ""

_message(_, _, by_target, groups) := join_sentences(array.concat(by_target, groups), count(by_target) + group_bound) if count(groups) > 0

# METADATA
# description: The maximum number of explanations of a message; further ones are only counted.
group_bound := 8

# The outcome of each accepted target: its paths are those that name it (semantics O4). The report of an ancestor does
# not cover targets without a path through it, which have their own entries (semantics S3). Targets that a policy selects
# by fields of its kind are not listed: they may be all workloads of a cluster (T8).
_by_target(policy_key, set, tallies) := [] if {
	policies.selects_by_fields(policy_key)
} else := [sprintf("Of its targets %s", [concat(", ", parts)])] if {
	by_node := object.union_n([{node: {tally.outcome: true}} | some tally in tallies; some node in tally.targets])
	nodes := sort({node | some node in attachment.targets(policy_key); _is_reported_on(policy_key, node, by_node)})
	count(nodes) > 1
	texts := [sprintf("%s is %s", [outcomes.node_name(node), _outcome_names[set][outcome]]) |
		some node in array.slice(nodes, 0, 10)
		outcome := overall_of(object.keys(object.get(by_node, node, {})))
	]
	parts := array.concat(texts, and_more(count(nodes) - 10))
} else := []

_is_reported_on(policy_key, _, _) if kinds.of_policy(policy_key).statusShape != "Ancestors"

_is_reported_on(_, node, by_node) if by_node[node]

_outcome_names := {
	"Programmed": {
		"Programmed": "Programmed",
		"PartiallyProgrammed": "PartiallyProgrammed",
		"Overridden": "Overridden",
		"Reconciling": "not computed",
		"NoScope": "without scope",
	},
	"Enforced": {
		"Programmed": "Enforced",
		"PartiallyProgrammed": "PartiallyEnforced",
		"Overridden": "Overridden",
		"Reconciling": "not computed",
		"NoScope": "without scope",
	},
}

# Tallies of several ancestors and targets with the same explanation share one sentence.
_groups(set, tallies) := [_sentence(_verbs[set][group[1]], group, number, examples) |
	some group in sort({[_rank[tally.outcome], tally.outcome, tally.by] | some tally in tallies})
	members := [tally | some tally in tallies; tally.outcome == group[1]; tally.by == group[2]]
	number := sum([tally.count | some tally in members])
	examples := array.slice(sort({example | some tally in members; some example in tally.examples}), 0, 3)
]

_rank := {"Programmed": 0, "PartiallyProgrammed": 1, "Overridden": 2, "Failed": 3}

_verbs := {
	"Programmed": {
		"Programmed": "Programmed",
		"PartiallyProgrammed": "Partially overridden",
		"Overridden": "Overridden",
		"Failed": "Not computed",
	},
	"Enforced": {
		"Programmed": "Enforced",
		"PartiallyProgrammed": "Partially overridden",
		"Overridden": "Overridden",
		"Failed": "Not computed",
	},
}

_sentence(verb, group, number, examples) := sprintf("%s on %s%s: %s%s", [
	verb,
	_scopes(number),
	_by(group[1], group[2]),
	concat("; ", examples),
	rest_text(number - count(examples)),
])

_scopes(1) := "1 scope"

_scopes(number) := sprintf("%d scopes", [number]) if number != 1

_by("Programmed", _) := ""

_by("Failed", by) := sprintf(" (%s)", [by[0]])

_by(outcome, by) := concat("", [" by ", concat(", ", array.slice(by, 0, 5)), rest_text(count(by) - 5)]) if {
	outcome in {"PartiallyProgrammed", "Overridden"}
}

# METADATA
# description: The number of further items, as a text.
rest_text(number) := "" if number <= 0

rest_text(number) := sprintf(" and %d more", [number]) if number > 0
