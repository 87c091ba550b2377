package bridge.effective

import data.bridge.lib.leaves
import data.bridge.merge

# METADATA
# description: How many policies a stack may hold. A longer one is an error for its path, never a silent cut.
fold_bound := 512

# METADATA
# description: |
#   The policies of a stack (keys, the established ones first) merged into one: `{spec, origins}`, with the tombstones
#   still in origins. BottomUp: start with the most specific, and going up `acc = step(established, acc)` by the
#   established one's strategy, so that an override at the top is never lost (semantics F2). Undefined above the bound.
folded(policies) := _finished(side) if {
	count(policies) <= fold_bound
	upward := array.reverse(policies)
	side := _fold_512(_side(upward[0]), array.slice(upward, 1, count(upward)))
}

_finished(side) := {"spec": leaves.without_nulls(side.spec), "origins": side.origins}

_side(policy) := merge.side(policy, proper(policy).spec, proper(policy).pointers)

# One step up, by the strategy of the policy, which is the established one.
_step(acc, policy) := merge.step(proper(policy).strategy, _side(policy), acc)

_step_at(acc, policies, index) := acc if index >= count(policies)

_step_at(acc, policies, index) := _step(acc, policies[index]) if index < count(policies)

# Rego has no loop that carries a value, so the steps are written out, eight of eight of eight.
_fold_512(acc, policies) := _fold_64(acc, policies) if count(policies) <= 64

_fold_512(acc, policies) := h if {
	count(policies) > 64
	a := _fold_64(acc, array.slice(policies, 0, 64))
	b := _fold_64(a, array.slice(policies, 64, 128))
	c := _fold_64(b, array.slice(policies, 128, 192))
	d := _fold_64(c, array.slice(policies, 192, 256))
	e := _fold_64(d, array.slice(policies, 256, 320))
	f := _fold_64(e, array.slice(policies, 320, 384))
	g := _fold_64(f, array.slice(policies, 384, 448))
	h := _fold_64(g, array.slice(policies, 448, 512))
}

_fold_64(acc, policies) := _fold_8(acc, policies) if count(policies) <= 8

_fold_64(acc, policies) := h if {
	count(policies) > 8
	a := _fold_8(acc, array.slice(policies, 0, 8))
	b := _fold_8(a, array.slice(policies, 8, 16))
	c := _fold_8(b, array.slice(policies, 16, 24))
	d := _fold_8(c, array.slice(policies, 24, 32))
	e := _fold_8(d, array.slice(policies, 32, 40))
	f := _fold_8(e, array.slice(policies, 40, 48))
	g := _fold_8(f, array.slice(policies, 48, 56))
	h := _fold_8(g, array.slice(policies, 56, 64))
}

# Most stacks are short.
_fold_8(acc, []) := acc

_fold_8(acc, [first]) := _step(acc, first)

_fold_8(acc, [first, second]) := _step(_step(acc, first), second)

_fold_8(acc, policies) := h if {
	count(policies) > 2
	a := _step_at(acc, policies, 0)
	b := _step_at(a, policies, 1)
	c := _step_at(b, policies, 2)
	d := _step_at(c, policies, 3)
	e := _step_at(d, policies, 4)
	f := _step_at(e, policies, 5)
	g := _step_at(f, policies, 6)
	h := _step_at(g, policies, 7)
}
