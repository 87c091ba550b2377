package bridge.attachment

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy as policies

# METADATA
# description: |
#   The conflict of a ref. Under `sameLevel: Conflict` only the oldest policy of a target and section is accepted; a
#   younger policy's ref is Conflicted (GEP-713, "Merge strategy: None"; semantics F5). Under ConflictOnOverlap this
#   applies only if the younger policy sets a field that an older one sets. Undefined without a conflict.
conflict(policy_key, ref) := {"reason": "Conflicted", "message": message} if {
	holders := _in_the_way(policy_key, ref)
	message := sprintf("%s belongs to %s", [policies.describe(ref), _winner(_way_to_compare(policy_key, ref), holders, policy_key)])
} else := {"reason": "Conflicted", "message": message} if {
	kinds.has_namespace_defaults(keys.type_of(policy_key))
	_is_default(policy_key)
	oldest := _namespace_default(keys.type_of(policy_key), keys.parse(policy_key).namespace)
	oldest != policy_key
	message := sprintf("namespace %s has %s, which selects everything too", [keys.parse(policy_key).namespace, _older(oldest)])
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

# METADATA
# description: |
#   Under ConflictOnOverlap a policy that conflicts at one target has no effect at its others either (semantics F5): the first
#   conflict of its refs. Undefined without a conflict.
conflict_elsewhere(policy_key) := [found | some ref in policies.declared_refs(policy_key); found := conflict(policy_key, ref)][0] if {
	kinds.of_policy(policy_key).sameLevel == "ConflictOnOverlap"
}

# METADATA
# description: The policy that a ref conflicts with, the oldest if there are several; undefined without a conflict.
conflict_winner(policy_key, ref) := [holder |
	some holder in _in_the_way(policy_key, ref)
	_overlaps_with(_way_to_compare(policy_key, ref), holder, policy_key)
][0] if {
	true
} else := _in_the_way(policy_key, ref)[0]

# Specs that are too large together are not compared (semantics T7).
_way_to_compare(policy_key, ref) := "NotCompared" if {
	kinds.of_policy(policy_key).sameLevel == "ConflictOnOverlap"
	not policies.leaves_within_bound(_contenders_for(policy_key, ref))
} else := kinds.of_policy(policy_key).sameLevel

_overlaps_with("Conflict", _, _)

_overlaps_with("NotCompared", _, _)

_overlaps_with("ConflictOnOverlap", holder, policy_key) if is_string(overlap(holder, policy_key))

# The policies that have the target of a ref, the oldest first; undefined if the policy is one of them.
_in_the_way(policy_key, ref) := [holder | some holder in contenders; holder in holders] if {
	policy_kind := keys.parse(policy_key).type
	kinds.get(policy_kind).sameLevel in {"Conflict", "ConflictOnOverlap"}
	contenders := _contenders_for(policy_key, ref)
	holders := _holders(kinds.get(policy_kind).sameLevel, contenders)
	not policy_key in holders
	policy_key in contenders
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

_holders("ConflictOnOverlap", contenders) := {contenders[0]} if count(contenders) == 1

_holders("ConflictOnOverlap", contenders) := disjoint_policies(contenders) if {
	count(contenders) > 1
	policies.leaves_within_bound(contenders)
}

# Large policies are not compared: the oldest ones within the bound have the target.
_holders("ConflictOnOverlap", contenders) := disjoint_policies(array.slice(contenders, 0, policies.largest_policies)) if {
	not policies.leaves_within_bound(contenders)
}

_winner("Conflict", holders, _) := _older(holders[0])

_winner("NotCompared", holders, _) := sprintf("%s; policies with more than %d leaves together are not compared", [_older(holders[0]), policies.leaf_bound])

_winner("ConflictOnOverlap", holders, policy_key) := [sprintf("%s, which sets %s too", [_older(holder), described]) |
	some holder in holders
	described := _pointer(overlap(holder, policy_key))
][0] if {
	true
} else := sprintf("%d older policies", [count(holders)])

_older(policy) := sprintf("the older %s %s", [keys.parse(policy).kind, keys.short(policy)])

_pointer("") := "the whole spec"

_pointer(pointer) := pointer if pointer != ""
