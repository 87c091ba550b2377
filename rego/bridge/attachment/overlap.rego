package bridge.attachment

import data.bridge.lib.recursion

# METADATA
# description: |
#   The first pointer at which the specs proper of two policies overlap, whatever the values: a leaf of one is, or
#   contains, a leaf of the other (semantics F5). Undefined if they are disjoint.
overlap(policy, other) := sort(common)[0] if {
	common := _overlaps(_taken_with(_nothing_taken, policy), other)
	count(common) > 0
}

_nothing_taken := {"policies": set(), "leaves": set(), "containers": set()}

_taken_with(taken, policy) := {
	"policies": (taken.policies | {policy}),
	"leaves": (taken.leaves | data.bridge.policy.pointers(policy)),
	"containers": (taken.containers | _containers(policy)),
}

_overlaps(taken, policy) := (taken.leaves & _containers(policy)) | (taken.containers & data.bridge.policy.pointers(policy))

# The leaves of a policy's spec and everything that contains them, up to the whole spec (``).
_containers(policy) := {container |
	some pointer in data.bridge.policy.pointers(policy)
	parts := split(pointer, "/")
	some length in numbers.range(1, count(parts))
	container := concat("/", array.slice(parts, 0, length))
}

# METADATA
# description: |
#   The maximum number of policies that may contend for one target, the same as for a stack. Younger policies are
#   rejected.
contender_bound := recursion.item_bound

# METADATA
# description: |
#   The policies, from the oldest, that do not overlap with an older policy of the result. A policy that
#   loses takes no part in later comparisons (semantics F5). A fold as in `bridge.lib.recursion`.
disjoint_policies(policies) := _taken_512(_nothing_taken, policies).policies

_taken_512(taken, policies) := _taken_64(taken, policies) if count(policies) <= 64

_taken_512(taken, policies) := h if {
	count(policies) > 64
	a := _taken_64(taken, array.slice(policies, 0, 64))
	b := _taken_64(a, array.slice(policies, 64, 128))
	c := _taken_64(b, array.slice(policies, 128, 192))
	d := _taken_64(c, array.slice(policies, 192, 256))
	e := _taken_64(d, array.slice(policies, 256, 320))
	f := _taken_64(e, array.slice(policies, 320, 384))
	g := _taken_64(f, array.slice(policies, 384, 448))
	h := _taken_64(g, array.slice(policies, 448, contender_bound))
}

_taken_64(taken, policies) := _taken_8(taken, policies) if count(policies) <= 8

_taken_64(taken, policies) := h if {
	count(policies) > 8
	a := _taken_8(taken, array.slice(policies, 0, 8))
	b := _taken_8(a, array.slice(policies, 8, 16))
	c := _taken_8(b, array.slice(policies, 16, 24))
	d := _taken_8(c, array.slice(policies, 24, 32))
	e := _taken_8(d, array.slice(policies, 32, 40))
	f := _taken_8(e, array.slice(policies, 40, 48))
	g := _taken_8(f, array.slice(policies, 48, 56))
	h := _taken_8(g, array.slice(policies, 56, 64))
}

_taken_8(taken, policies) := h if {
	a := _taken_at(taken, policies, 0)
	b := _taken_at(a, policies, 1)
	c := _taken_at(b, policies, 2)
	d := _taken_at(c, policies, 3)
	e := _taken_at(d, policies, 4)
	f := _taken_at(e, policies, 5)
	g := _taken_at(f, policies, 6)
	h := _taken_at(g, policies, 7)
}

_taken_at(taken, policies, index) := taken if index >= count(policies)

_taken_at(taken, policies, index) := taken if {
	index < count(policies)
	count(_overlaps(taken, policies[index])) > 0
}

_taken_at(taken, policies, index) := _taken_with(taken, policies[index]) if {
	index < count(policies)
	count(_overlaps(taken, policies[index])) == 0
}
