# METADATA
# title: Status
# description: The status of a policy (GEP-713, "Status reporting"; semantics S1 to S4).
package bridge.status

import data.bridge.attachment
import data.bridge.effective
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.scopes

# The desired status of a policy, `{policy, policyKind, mode, controllerName?, outcome?, incomplete?, conditions, types}`;
# `outcome` is that on all its paths in one word, `incomplete` are reasons why it is not certain, and `types` are the
# bridge's condition types. If the kind reports by ancestor, `{…, ancestors, unreported}`: the entries, and the places
# `[object, place]` of omitted ancestors.
# Accepted=False has no outcome (semantics S1). `reported` has the reports of other controllers about an observed
# policy; see `reported`.
of_policy(policy_key, tallies) := object.union(entry, {"reported": reports |
	entry.mode == "Observe"
	reports := reported(policy_key, entry)
	count(reports) > 0
}) if {
	kind := kinds.of_policy(policy_key)
	entry := object.union_n([
		{"policy": policy_key, "policyKind": keys.type_of(policy_key), "mode": kind.mode},
		{"controllerName": kind.controllerName | kind.controllerName},
		{"outcome": outcome | outcome := outcome_of(policy_key, tallies)},
		{"incomplete": reasons | reasons := incomplete_because(policy_key, tallies)},
		{name: part |
			kind.statusShape == "Conditions"
			some name, part in {"conditions": conditions(policy_key, tallies), "types": sort(policy_types)}
		},
		{name: part | kind.statusShape == "Ancestors"; some name, part in ancestors(policy_key, tallies)},
	])
}

# The conditions of a policy from its tallies, each with the generation that it was computed from.
conditions(policy_key, tallies) := [with_generation(policy_key, condition) |
	accepted := accepted_condition(policy_key)
	some condition in array.concat([accepted], [outcome |
		accepted.status == "True"
		some outcome in outcome_conditions(policy_key, tallies)
	])
]

# A condition with observedGeneration, if the object has a generation.
with_generation(key, condition) := object.union(condition, {"observedGeneration": generation}) if {
	generation := lookup.get(key).metadata.generation
} else := condition

# The Accepted condition of a policy from the verdicts on its refs. False only if no ref is accepted, with the reason of
# the first; otherwise the message names the rejected refs (semantics T4).
accepted_condition(policy_key) := {"type": "Accepted", "status": "False", "reason": refused[0].reason, "message": message} if {
	refused := _rejected(policy_key)
	refused != [] # first: most policies have no rejected ref, and a mesh-wide one has many verdicts
	count(refused) == count(attachment.verdicts(policy_key))
	message := concat(". Incomplete: ", array.concat([refused[0].message], kinds.doubts_of(keys.type_of(policy_key))))
} else := {"type": "Accepted", "status": "True", "reason": "Accepted", "message": message} if {
	refused := _rejected(policy_key)
	rejected := [sprintf(", but not for %d of its targets: %s%s", [count(refused), explained, rest]) |
		refused != []
		explained := concat("; ", [verdict.message | some verdict in array.slice(refused, 0, _refusal_bound)])
		rest := _rest_text(count(refused) - _refusal_bound)
	]
	message := fit(concat("", array.concat(["Policy has been accepted"], rejected)))
}

_rejected(policy_key) := [verdict |
	not attachment.accepts_all(policy_key)
	some verdict in attachment.verdicts(policy_key)
	verdict.reason != "Accepted"
	not _stays_accepted(policy_key, verdict)
]

# None of several policies for a target is in effect there, and each stays accepted.
_stays_accepted(policy_key, verdict) if {
	verdict.reason == "Conflicted"
	kinds.of_policy(policy_key).sameLevel == "NoneOfSeveral"
}

# The maximum number of rejected refs that a message explains.
_refusal_bound := 20

# The conditions for the outcome of an accepted policy, from its tallies, in the set that its kind uses: Programmed
# (GEP-713, "Status conditions") or that of 2025, Enforced, PartiallyEnforced and Overridden, of which one applies
# (semantics S2).
outcome_conditions(policy_key, tallies) := [{"type": type, "status": status, "reason": reason, "message": message}] if {
	set := kinds.of_policy(policy_key).conditions
	[type, status, reason] := _sets[set][_overall({tally.outcome | some tally in tallies})]
	doubts := [sprintf("Incomplete: %s", [concat("; ", reasons)]) | reasons := incomplete_because(policy_key, tallies)]
	message := fit(concat(". ", array.concat([outcome_message(policy_key, set, tallies)], doubts)))
}

# The outcome of an accepted policy on all its paths in one word (semantics O4), `Incomplete` if it is not certain.
outcome_of(policy_key, tallies) := word if {
	accepted_condition(policy_key).status == "True"
	word := _word(policy_key, tallies)
}

_word(policy_key, tallies) := "Incomplete" if {
	incomplete_because(policy_key, tallies)
} else := _overall({tally.outcome | some tally in tallies})

# Why the outcome of a policy is not certain, on some of its paths or because of its kind. Undefined if it is certain.
incomplete_because(policy_key, tallies) := reasons if {
	_may_be_incomplete(policy_key, tallies)
	of_kind := {reason | some reason in kinds.doubts_of(keys.type_of(policy_key))}
	unreached := {reason | tallies == []; some reason in effective.features_used_by(policy_key)} | _doubts_about_conflicts(policy_key)
	reasons := sort(((of_kind | unreached) | {reason | some tally in tallies; some reason in tally.incomplete}))
	reasons != []
}

# Why the conflict of a policy is not certain.
_doubts_about_conflicts(policy_key) := {feature.message |
	some feature in kinds.of_policy(policy_key).notModeled
	feature.several
	some verdict in attachment.verdicts(policy_key)
	verdict.reason == "Conflicted"
}

_may_be_incomplete(policy_key, _) if kinds.traits(keys.type_of(policy_key)).doubtful
_may_be_incomplete(_, tallies) if tallies[_].incomplete

# A policy is overridden on all paths, and only its defaults, which more specific policies may replace.
is_replaced_default(tallies) if {
	_overall({tally.outcome | some tally in tallies}) == "Overridden"
	[text | some tally in tallies; some text in tally.by; not effective.is_about_defaults(text)] == []
}

# The condition types of both sets that the bridge sets on a policy and removes.
policy_types := {"Accepted"} | {type | type := _sets[_][_][0]}

_sets := {
	"Programmed": {
		"Programmed": ["Programmed", "True", "Programmed"],
		"PartiallyProgrammed": ["Programmed", "True", "PartiallyProgrammed"],
		"Overridden": ["Programmed", "False", "Overridden"],
		"Reconciling": ["Programmed", "False", "Reconciling"],
		"NoScope": ["Programmed", "False", "NoScope"],
	},
	"Enforced": {
		"Programmed": ["Enforced", "True", "Enforced"],
		"PartiallyProgrammed": ["PartiallyEnforced", "True", "PartiallyEnforced"],
		"Overridden": ["Overridden", "True", "Overridden"],
		"Reconciling": ["Enforced", "False", "Reconciling"],
		"NoScope": ["Enforced", "False", "NoScope"],
	},
}

# The outcome of a policy from the set of its outcomes on all its paths: Programmed if it is Programmed on all, Overridden
# if Overridden on all, otherwise PartiallyProgrammed; NoScope without an effective target, a reason beyond GEP-713's
# (semantics O4). If it is Programmed on none, and not Overridden on all, some could not be computed: Reconciling.
_overall(outcomes) := "NoScope" if {
	count(outcomes) == 0
} else := outcome if {
	[outcome] := [outcome | some outcome in outcomes]
	outcome != "Failed"
} else := "PartiallyProgrammed" if {
	count(outcomes & {"Programmed", "PartiallyProgrammed"}) > 0
} else := "Reconciling"

# The message of an outcome: the outcome of each declared target, if there are several, then one explanation for the
# scopes with a common one, with the other policies by name and GEP-713's names of the strategies (semantics S1). `set`
# is the set of conditions of the message.
outcome_message(policy_key, _, []) := policies.refusal(policy_key).message if {
	not attachment.takes_part(policy_key)
} else := sprintf("Policy has no effective target: %s", [concat("; ", messages)]) if {
	messages := [verdict.message | some verdict in attachment.verdicts(policy_key); _stays_accepted(policy_key, verdict)]
	messages != []
} else := sprintf("Policy has no effective target: it selects no %s%s", [concat(" or ", names), _where_it_selects(policy_key)]) if {
	policies.selects_by_fields(policy_key)
	names := {split(type, "/")[1] | some selector in kinds.of_policy(policy_key).selectors; some type in selector.types}
} else := sprintf("Policy has no effective target: %s%s", [absence, _limit(policy_key)]) if {
	# Independent of objects beyond the limit: a change of them changes no scope, so it recomputes no status. A Direct
	# policy acts at its targets, but at none that is not accepted or that other controllers serve.
	absence := {
		true: "none of its targets is in effect",
		false: sprintf("%s at or below its targets", [scopes.absence(keys.type_of(policy_key))]),
	}[kinds.is_direct(keys.type_of(policy_key))]
}

outcome_message(policy_key, set, tallies) := join_sentences(array.concat(by_target, _groups(set, tallies)), count(by_target) + _group_bound) if {
	tallies != []
	by_target := _by_target(policy_key, set, tallies)
}

_where_it_selects(policy_key) := sprintf(" in namespace %s. Only policies in the root namespace %s act in other namespaces", [own, root]) if {
	own := keys.namespace(policy_key)
	root := kinds.of_policy(policy_key).rootNamespace
	own != root
} else := ""

# The maximum number of explanations of a message; further ones are only counted.
_group_bound := 8

_limit(policy_key) := sprintf(" on a path through GatewayClass/%s, to which className limits it", [concat(" or ", sort(classes))]) if {
	policy_kind := keys.parse(policy_key).type
	attachment.has_class_limits(policy_kind)
	classes := {class |
		some node in attachment.targets(policy_key)
		some class in attachment.limits(policy_kind, node)[policy_key]
	}
	count(classes) > 0
} else := ": no route is attached to its listeners" if {
	kinds.of_policy(policy_key).needsRoutes
} else := sprintf(" below a Gateway of %s", [concat(" or ", sort(controllers))]) if {
	controllers := kinds.of_policy(policy_key).controllers
} else := ""

_is_listed(_, node, by_node) if by_node[node]
_is_listed(policy_key, _, _) if kinds.of_policy(policy_key).statusShape != "Ancestors"

# The outcome of each accepted target: its paths are those that name it (semantics O4). The report of an ancestor does
# not cover targets without a path through it, which have their own entries (semantics S3). Targets that a policy selects
# by fields of its kind are not listed: they may be all workloads of a cluster (T8).
_by_target(policy_key, set, tallies) := [sprintf("By target: %s", [concat(", ", parts)]) |
	not policies.selects_by_fields(policy_key)
	by_node := object.union_n([{node: {tally.outcome: true}} | some tally in tallies; some node in tally.targets])
	nodes := sort({node |
		some node in attachment.targets(policy_key)
		_is_listed(policy_key, node, by_node)
	})
	count(nodes) > 1
	texts := [sprintf("%s is %s", [outcomes.node_name(node), object.get(_names_without_effect, outcome, _sets[set][outcome][2])]) |
		some node in array.slice(nodes, 0, 10)
		outcome := _overall(object.keys(object.get(by_node, node, {})))
	]
	parts := array.concat(texts, _and_more(count(nodes) - 10))
]

_names_without_effect := {"Reconciling": "not computed", "NoScope": "without effective target"}

# Tallies of several ancestors and targets with the same explanation share one sentence.
_groups(set, tallies) := [sentence |
	some [outcome, verb] in [
		["Programmed", _sets[set].Programmed[2]],
		["PartiallyProgrammed", "Partially overridden"],
		["Overridden", _sets[set].Overridden[2]],
		["Failed", "Not computed"],
	]
	some by in sort({tally.by | some tally in tallies; tally.outcome == outcome})
	members := [tally | some tally in tallies; tally.outcome == outcome; tally.by == by]
	number := sum([tally.count | some tally in members])
	examples := array.slice(sort({example | some tally in members; some example in tally.examples}), 0, 3)
	paths := _paths(number)
	rest := _rest_text(number - count(examples))
	sentence := sprintf("%s on %d %s%s: %s%s", [verb, number, paths, _by(outcome, by), concat("; ", examples), rest])
]

_paths(1) := "path"
_paths(number) := "paths" if number != 1

_by("Programmed", _) := ""
_by("Failed", by) := sprintf(" (%s)", [by[0]])

# Without others, the lost fields are empty objects that exist anyway (semantics O3).
_by(outcome, by) := concat("", [sprintf(" by %s%s", [concat(", ", array.slice(by, 0, 5)), _rest_text(count(by) - 5)]) | by != []]) if {
	outcome in {"PartiallyProgrammed", "Overridden"}
}

_rest_text(number) := concat("", [sprintf(" and %d more", [number]) | number > 0])

_and_more(number) := [sprintf("and %d more", [number]) | number > 0]

# The maximum length of a condition's message (Kubernetes, Condition).
_message_bound := 32768

# The maximum number of entries in status.ancestors, of all controllers (GEP-713, PolicyAncestorStatus).
ancestor_bound := 16

# The bridge's entries of status.ancestors, `{ancestors, unreported}`: one for each ancestor of the policy's effective
# targets, by key, and then one for each target ref that has none or is rejected. Together with those of other
# controllers they are at most 16; the last one states the number of omitted entries, and `unreported_policies` has the
# places of those (semantics S3; GEP-713, "Using upstream PolicyAncestorStatus struct").
ancestors(policy_key, tallies) := {
	"ancestors": [{"ancestorRef": _reference(keys.parse(entry.ancestor)), "controllerName": controller, "conditions": entry.conditions} |
		some entry in array.concat(array.slice(all_entries, 0, room - 1), last)
	],
	"unreported": sort({place |
		some entry in array.slice(all_entries, room, count(all_entries))
		some place in outcomes.places(entry.ancestor, {""})
	}),
} if {
	controller := object.get(kinds.of_policy(policy_key), "controllerName", "")
	reachable := [{"ancestor": key, "conditions": conditions(policy_key, own)} |
		some key in sort(_ancestor_keys(tallies))
		own := [tally | some tally in tallies; tally.ancestor == key]
	]
	all_entries := array.concat(reachable, _ref_entries(policy_key, tallies))
	foreign := [entry |
		some entry in list_at(policy_key, ["status", "ancestors"])
		not entry.controllerName == controller
	]
	room := max([0, ancestor_bound - count(foreign)])
	last := [object.union(entry, {"conditions": [_counted(condition, count(all_entries) - room) | some condition in entry.conditions]}) |
		room > 0
		entry := all_entries[room - 1]
	]
}

# The places of the ancestors that a policy's entries of status.ancestors leave out; most policies have few ancestors.
unreported(policy_key, tallies) := ancestors(policy_key, tallies).unreported if {
	count(tallies) + count(list_at(policy_key, ["status", "ancestors"])) > ancestor_bound
} else := []

_counted(condition, left_out) := object.union(condition, {"message": fit(message)}) if {
	left_out > 0
	condition.type == "Accepted"
	shown := sprintf("%d more ancestors are not shown, because a status lists at most %d", [left_out, ancestor_bound])
	message := concat(". ", [shown, condition.message])
} else := condition

_ancestor_keys(tallies) := {tally.ancestor | some tally in tallies} - {""}

# The result of each ref by itself, once for each target.
_ref_entries(policy_key, tallies) := [{"ancestor": key, "conditions": _joint_conditions(same)} |
	some index, entry in entries
	key := entry.ancestor
	not key in {earlier.ancestor | some earlier in array.slice(entries, 0, index)}
	same := [other | some other in entries; other.ancestor == key]
] if {
	entries := [entry |
		some verdict in attachment.verdicts(policy_key)
		some entry in _entries_of_ref(policy_key, verdict, tallies)
		not entry.ancestor in _ancestor_keys(tallies)
	]
}

# The paths of an accepted ref without an ancestor, if it has any.
_entries_of_ref(policy_key, verdict, tallies) := {{"ancestor": node, "conditions": conditions(policy_key, own)} |
	node := attachment.place(keys.parse(policy_key).type, verdict.ref.key)
	own := [tally | some tally in tallies; node in tally.targets]
	count(_ancestor_keys(own)) == 0
} if verdict.reason == "Accepted"

# A policy in conflict has the ancestors that it would have otherwise, if these have no entry (GEP-1897).
_entries_of_ref(policy_key, verdict, tallies) := {{"ancestor": key, "conditions": [with_generation(policy_key, condition)]} |
	condition := {"type": "Accepted", "status": "False", "reason": verdict.reason, "message": verdict.message}
	some key in _keys_of_rejected(policy_key, verdict, tallies)
} if verdict.reason != "Accepted"

_keys_of_rejected(policy_key, verdict, tallies) := found if {
	verdict.reason == "Conflicted"
	policy_kind := keys.type_of(policy_key)
	outcomes.keeps_status_above(policy_kind)
	node := attachment.place(policy_kind, verdict.ref.key)
	found := outcomes.ancestors(policy_kind, [node], [keys.object_of(node)]) - _ancestor_keys(tallies)
	count(found) > 0
} else := {verdict.ref.key}

# Verdicts without an object are reported under the policy's own name; an entry has one Accepted condition, which states
# all of them.
_joint_conditions(entries) := [object.union(condition, {"message": fit(concat("; ", messages))}) |
	some condition in entries[0].conditions
] if {
	messages := [entry.conditions[0].message | some entry in entries; count(entry.conditions) == 1]
	count(messages) == count(entries)
	count({message | some message in messages}) > 1
} else := entries[0].conditions

_reference(parts) := object.union_n([
	{"group": keys.api_group(parts.group), "kind": parts.kind, "name": parts.name},
	{"namespace": parts.namespace | parts.namespace != "-"},
	{"sectionName": parts.section | parts.section != ""},
])

# Sentences as one message: at most `bound` of them and as many as fit, and the number of omitted ones (semantics S1).
join_sentences(sentences, bound) := concat(". ", array.concat(array.slice(sentences, 0, number_shown), rest)) if {
	# Each sentence with the mark after it, and room for ". And <number> more explanations".
	lengths := [length | some sentence in sentences; length := count(sentence) + 2]
	fitting := [number |
		some number in numbers.range(1, count(sentences))
		sum(array.slice(lengths, 0, number)) <= _message_bound - 48
	]
	number_shown := min([count(fitting), bound])
	number_shown > 0
	rest := [sprintf("And %d more explanations", [count(sentences) - number_shown]) | count(sentences) > number_shown]
} else := fit(sentences[0])

fit(text) := text if {
	count(text) <= _message_bound
} else := concat("", [substring(text, 0, _message_bound - 1), "…"])

# Policies as `Kind/namespace/name`, at most twenty of them, and the number of others.
name_list(policies) := concat(", ", array.concat(array.slice(names, 0, 20), _and_more(count(names) - 20))) if {
	names := sort([keys.describe(policy) | some policy in policies])
}
