package bridge.attachment

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.policy as policies

# The conflict of a ref. Under `sameLevel: Conflict` only the oldest policy of a target and section is accepted; a
# younger policy's ref is Conflicted (GEP-713, "Merge strategy: None"; semantics F5). Under ConflictOnOverlap this
# applies only if the younger policy sets a field that an older one sets. Undefined without a conflict.
conflict(policy_key, ref) := {"reason": "Conflicted", "message": concat(". ", array.concat([found], uncertain))} if {
	found := _conflict_message(policy_key, ref)
	uncertain := [sprintf("Incomplete: %s", [feature.message]) | some feature in kinds.of_policy(policy_key).notModeled; feature.several]
}

_conflict_message(policy_key, ref) := message if {
	_in_the_way(policy_key, ref) == []
	message := sprintf("%s has several policies of kind %s, so none of them applies there", [keys.describe(ref.key), keys.parse(policy_key).kind])
} else := message if {
	holders := _in_the_way(policy_key, ref)
	message := _winner(_way_to_compare(policy_key, ref), holders, policy_key, keys.describe(ref.key))
} else := message if {
	kinds.traits(keys.type_of(policy_key)).contests
	message := _contest_message(policy_key, ref)
}

_contest_message(policy_key, ref) := message if {
	others := sort(_disagreeing(policy_key, ref.object))
	message := sprintf("%s and %s meet at rules of %s with different values of %s, so neither applies there", [
		keys.describe(policy_key),
		keys.describe(others[0]),
		keys.describe(ref.object),
		concat(", ", [concat(".", segments) | some segments in kinds.of_policy(policy_key).mustAgree]),
	])
} else := message if {
	kinds.has_namespace_defaults(keys.type_of(policy_key))
	_is_default(policy_key)
	oldest := _namespace_default(keys.type_of(policy_key), keys.parse(policy_key).namespace)
	oldest != policy_key
	message := sprintf("%s already selects everything in namespace %s", [_older(oldest), keys.parse(policy_key).namespace])
}

# The policies of a kind at an object, or at its sections, that meet a policy at one of these and differ in fields in which
# they must agree (`mustAgree`; no value is a value, too).
_disagreeing(policy_key, object_key) := {other |
	fields := kinds.of_policy(policy_key).mustAgree
	some other in (policies_targeting(object_key) - {policy_key})
	keys.type_of(other) == keys.type_of(policy_key)
	takes_part(other)
	[object.get(lookup.get(other), segments, null) | some segments in fields] != [object.get(lookup.get(policy_key), segments, null) | some segments in fields]
	some own in refs_on(policy_key, object_key)
	some theirs in refs_on(other, object_key)
	"" in ({own.section, theirs.section} | {"" | own.section == theirs.section})
	own_verdict(other, theirs).reason == "Accepted"
}

# METADATA
# description: Other policies of a policy's kind contend for a target of it that is on a path.
has_rivals(policy_key, path) if {
	some ref in policies.declared_refs(policy_key)
	place(keys.type_of(policy_key), ref.key) in path
	count(_contenders_for(policy_key, ref)) > 1
}

# The policy that counts of those that select everything in a namespace (semantics T8).
_namespace_default(policy_kind, namespace) := sort({policies.fact(policy, "order") |
	some name, _ in lookup.objects_in(policy_kind, namespace)
	policy := concat("/", [policy_kind, namespace, name])
	takes_part(policy)
	not policy_problem(policy)
	_is_default(policy)
})[0][2]

# A narrow policy has an odd breadth.
_is_default(policy_key) if policies.fact(policy_key, "breadth") % 2 == 0

# Under ConflictOnOverlap a policy that conflicts at one target has no effect at its others either (semantics F5): the
# first conflict of its refs. Undefined without a conflict.
conflict_elsewhere(policy_key) := [found | some ref in policies.declared_refs(policy_key); found := conflict(policy_key, ref)][0] if {
	kinds.of_policy(policy_key).sameLevel == "ConflictOnOverlap"
}

# The policy that a ref conflicts with, the oldest if there are several; undefined without a conflict.
conflict_winner(policy_key, ref) := [holder |
	_way_to_compare(policy_key, ref) == "ConflictOnOverlap"
	some holder in _in_the_way(policy_key, ref)
	_overlap(holder, policy_key)
][0] if {
	true
} else := _in_the_way(policy_key, ref)[0]

# Specs that are too large together are not compared (semantics T7).
_way_to_compare(policy_key, ref) := "NotCompared" if {
	kinds.of_policy(policy_key).sameLevel == "ConflictOnOverlap"
	not policies.leaves_within_bound(_contenders_for(policy_key, ref))
} else := kinds.of_policy(policy_key).sameLevel

# The policies that have the target of a ref, the oldest first; undefined if the policy is one of them.
_in_the_way(policy_key, ref) := contest.holders if {
	policy_kind := keys.parse(policy_key).type
	kinds.get(policy_kind).sameLevel in kinds.conflicting
	node := place(policy_kind, ref.key)
	contest := _contest(policy_kind, node, _requests_from(policy_key, node))
	policy_key in contest.challengers
}

# The contenders at a node: those that have the target, the oldest first, and the challengers. One result serves all
# contenders, so that the cost of a node is linear in their number.
_contest(policy_kind, node, source) := {
	"holders": [holder | some holder in contenders; holder in holders],
	"challengers": {policy | some policy in contenders} - holders,
} if {
	contenders := _contenders(policy_kind, node, source)
	holders := _holders(kinds.get(policy_kind).sameLevel, contenders)
}

# The policies that contend for the target of a ref, including the policy itself.
_contenders_for(policy_key, ref) := _contenders(policy_kind, node, _requests_from(policy_key, node)) if {
	policy_kind := keys.parse(policy_key).type
	node := place(policy_kind, ref.key)
}

# The policies of a kind that would be accepted at a node if they were alone there, the oldest first. `source`: those
# that count for the same requests.
_contenders(policy_kind, node, source) := [policy |
	some [_, _, policy] in sort({policies.fact(policy, "order") |
		some [policy, ref] in refs_to(policy_kind, node)
		_requests_from(policy, node) == source
		own_verdict(policy, ref).reason == "Accepted"
	})
]

# A consumer's policy counts for other requests than a producer's or another consumer's (semantics P6): those from its
# namespace. Policies of the target's own namespace and cluster-scoped ones count for all requests, "".
_requests_from(policy_key, node) := namespace if {
	kinds.is_consumer_kind(keys.parse(policy_key).type)
	namespace := keys.parse(policy_key).namespace
	not namespace in {"-", keys.parse(node).namespace}
	keys.parse(node).namespace != "-"
} else := ""

_holders("Conflict", contenders) := {contenders[0]}
_holders(same_level, contenders) := {policy | count(contenders) == 1; some policy in contenders} if same_level in {"ConflictOfAll", "NoneOfSeveral"}

# Large policies are not compared: the oldest ones within the bound have the target.
_holders("ConflictOnOverlap", contenders) := _disjoint_policies(contenders) if {
	policies.leaves_within_bound(contenders)
} else := _disjoint_policies(array.slice(contenders, 0, policies.largest_policies))

_winner("Conflict", holders, _, target) := _taken_by(holders[0], target)
_winner("NotCompared", holders, _, target) := sprintf("%s; policies with more than %d values together are not compared", [
	_taken_by(holders[0], target),
	policies.leaf_bound,
])

_winner("ConflictOnOverlap", holders, policy_key, target) := [sprintf("%s and sets %s too", [_taken_by(holder, target), described]) |
	some holder in holders
	described := [text | some text in [_named(_overlap(holder, policy_key)), "the whole spec"]; text != ""][0]
][0] if {
	true
} else := sprintf("%d older policies already target %s", [count(holders), target])

_named(pointer) := "" if pointer == ""

_named(pointer) := leaves.dotted(pointer) if pointer != ""

_taken_by(policy, target) := sprintf("%s already targets %s", [_older(policy), target])

_older(policy) := sprintf("The older %s", [keys.describe(policy)])

# The first pointer at which the specs proper of two policies overlap, whatever the values: a leaf of one is, or
# contains, a leaf of the other (semantics F5). Undefined if they are disjoint.
_overlap(policy, other) := sort(common)[0] if {
	common := _overlaps(_taken_with(_nothing_taken, policy), other)
	count(common) > 0
}

_nothing_taken := {"policies": set(), "leaves": set(), "containers": set()}

_taken_with(taken, policy) := {
	"policies": (taken.policies | {policy}),
	"leaves": (taken.leaves | object.keys(policies.facts(policy).origins)),
	"containers": (taken.containers | _containers(policy)),
}

_overlaps(taken, policy) := (taken.leaves & _containers(policy)) | (taken.containers & object.keys(policies.facts(policy).origins))

# The leaves of a policy's spec and everything that contains them, up to the whole spec (``).
_containers(policy) := {container |
	some pointer in object.keys(policies.facts(policy).origins)
	parts := split(pointer, "/")
	some length in numbers.range(1, count(parts))
	container := concat("/", array.slice(parts, 0, length))
}

# The policies, from the oldest, that do not overlap with an older policy of the result. A policy that loses takes no
# part in later comparisons (semantics F5). At most 512 policies may contend for one target, as for a stack; younger ones are
# rejected. Rego has no loop that carries a value, so the steps are written out.
_disjoint_policies(policies) := _taken_512(_nothing_taken, policies).policies

_taken_512(taken, policies) := _taken_256(_taken_256(taken, array.slice(policies, 0, 256)), array.slice(policies, 256, 512))
_taken_256(taken, policies) := _taken_128(_taken_128(taken, array.slice(policies, 0, 128)), array.slice(policies, 128, 256))
_taken_128(taken, policies) := _taken_64(_taken_64(taken, array.slice(policies, 0, 64)), array.slice(policies, 64, 128))
_taken_64(taken, policies) := _taken_32(_taken_32(taken, array.slice(policies, 0, 32)), array.slice(policies, 32, 64))
_taken_32(taken, policies) := _taken_16(_taken_16(taken, array.slice(policies, 0, 16)), array.slice(policies, 16, 32))
_taken_16(taken, policies) := _taken_8(_taken_8(taken, array.slice(policies, 0, 8)), array.slice(policies, 8, 16))
_taken_8(taken, policies) := _taken_4(_taken_4(taken, array.slice(policies, 0, 4)), array.slice(policies, 4, 8))
_taken_4(taken, policies) := _taken_2(_taken_2(taken, array.slice(policies, 0, 2)), array.slice(policies, 2, 4))
_taken_2(taken, policies) := _taken_1(_taken_1(taken, array.slice(policies, 0, 1)), array.slice(policies, 1, 2))
_taken_1(taken, []) := taken

_taken_1(taken, [policy]) := _taken_with(taken, policy) if {
	count(_overlaps(taken, policy)) == 0
} else := taken
