package bridge.status

import data.bridge.lib.keys

# METADATA
# description: The maximum length of a condition's message (Kubernetes, Condition).
message_bound := 32768

# METADATA
# description: |
#   Sentences as one message: at most `bound` of them and as many as fit, and the number of omitted ones (semantics S1).
join_sentences(sentences, bound) := concat(". ", array.concat(array.slice(sentences, 0, number_shown), _rest_sentence(count(sentences) - number_shown))) if {
	number_shown := min([_fitting(sentences), bound])
	number_shown > 0
} else := fit(sentences[0])

# The number of sentences that fit, each with the mark after it.
_fitting(sentences) := count([number |
	some number in numbers.range(1, count(sentences))
	sum([length | some sentence in array.slice(sentences, 0, number); length := count(sentence) + 2]) <= message_bound - _room_for_rest
])

# For ". And <number> more explanations".
_room_for_rest := 48

_rest_sentence(0) := []

_rest_sentence(number) := [sprintf("And %d more explanations", [number])] if number > 0

# METADATA
# description: A text cut to the maximum length of a message.
fit(text) := text if count(text) <= message_bound

fit(text) := concat("", [substring(text, 0, message_bound - 1), "…"]) if count(text) > message_bound

# METADATA
# description: The names of policies, at most twenty of them, and the number of others.
name_list(policies) := concat(", ", array.concat(array.slice(names, 0, 20), and_more(count(names) - 20))) if {
	names := sort([keys.short(policy) | some policy in policies])
}

# METADATA
# description: The number of further items, as a list of one text or none.
and_more(number) := [] if number <= 0

and_more(number) := [sprintf("and %d more", [number])] if number > 0
