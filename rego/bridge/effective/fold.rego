package bridge.effective

import data.bridge.lib.leaves
import data.bridge.merge

# METADATA
# description: How many policies a stack may hold. A longer one is an error for its path, never a silent cut.
fold_bound := 512

# METADATA
# description: |
#   What `fold_ops` says of a stack, done: the policies merged into one, `{spec, origins}`, with the tombstones still in it.
#   BottomUp: start with the most specific, and going up `acc = step(established, acc)` by the established one's
#   strategy, so that an override at the top is never lost (semantics F2). Undefined above the bound.
folded(ops) := _fold_512(side(ops[0]), array.slice(ops, 1, count(ops))) if {
	count(ops) <= fold_bound
	is_string(ops[0])
} else := _fold_512({}, ops).side if {
	count(ops) <= fold_bound
}

# METADATA
# description: A merged side as it is told, without its tombstones, which stay in its origins (semantics F3).
finished(side) := {"spec": plain.spec, "origins": plain.origins} if {
	plain := merge.listed(object.union(object.remove(side, ["spec"]), {"spec": leaves.without_nulls(side.spec)}))
}

# One step up, by the strategy of the policy, which is the established one.
_step(acc, policy) := merge.step(strategy_of(policy), side(policy), acc) if is_string(policy)

# One policy of its level (`acc.level`, while the level is not whole), and then perhaps the level and what is merged.
_step(acc, op) := _met(op.across, acc, _joined(op, acc)) if {
	is_object(op)
	not op.told
}

# The same, with what there is to tell of it.
_step(acc, op) := object.union(object.remove(next, told), object.filter(history, told)) if {
	op.told
	level := _joined(op, acc)
	next := _met(op.across, acc, level)
	history := with_steps(acc, op, level, next)
	told := ["steps", "members", "joining"]
}

_joined(op, acc) := merge.combined(op.within[0], _op_side(op), acc.level)

_joined(op, _) := _op_side(op) if count(op.within) == 0

_op_side(op) := part_side(op.policy, op.part) if {
	op.part
} else := side(op.policy)

_met([], acc, level) := object.union(object.remove(acc, ["level"]), {"level": level})

_met([how], acc, level) := {"side": merge.combined(how, level, acc.side)} if how.upward

_met([how], acc, level) := {"side": merge.combined(how, acc.side, level)} if not how.upward

_met([_], acc, level) := {"side": level} if not acc.side

_step_at(acc, ops, index) := acc if index >= count(ops)

_step_at(acc, ops, index) := _step(acc, ops[index]) if index < count(ops)

# Rego has no loop that carries a value, so the steps are written out, eight of eight of eight.
_fold_512(acc, ops) := _fold_64(acc, ops) if count(ops) <= 64

_fold_512(acc, ops) := h if {
	count(ops) > 64
	a := _fold_64(acc, array.slice(ops, 0, 64))
	b := _fold_64(a, array.slice(ops, 64, 128))
	c := _fold_64(b, array.slice(ops, 128, 192))
	d := _fold_64(c, array.slice(ops, 192, 256))
	e := _fold_64(d, array.slice(ops, 256, 320))
	f := _fold_64(e, array.slice(ops, 320, 384))
	g := _fold_64(f, array.slice(ops, 384, 448))
	h := _fold_64(g, array.slice(ops, 448, 512))
}

_fold_64(acc, ops) := _fold_8(acc, ops) if count(ops) <= 8

_fold_64(acc, ops) := h if {
	count(ops) > 8
	a := _fold_8(acc, array.slice(ops, 0, 8))
	b := _fold_8(a, array.slice(ops, 8, 16))
	c := _fold_8(b, array.slice(ops, 16, 24))
	d := _fold_8(c, array.slice(ops, 24, 32))
	e := _fold_8(d, array.slice(ops, 32, 40))
	f := _fold_8(e, array.slice(ops, 40, 48))
	g := _fold_8(f, array.slice(ops, 48, 56))
	h := _fold_8(g, array.slice(ops, 56, 64))
}

# Most stacks are short.
_fold_8(acc, []) := acc

_fold_8(acc, [first]) := _step(acc, first)

_fold_8(acc, [first, second]) := _step(_step(acc, first), second)

_fold_8(acc, ops) := h if {
	count(ops) > 2
	a := _step_at(acc, ops, 0)
	b := _step_at(a, ops, 1)
	c := _step_at(b, ops, 2)
	d := _step_at(c, ops, 3)
	e := _step_at(d, ops, 4)
	f := _step_at(e, ops, 5)
	g := _step_at(f, ops, 6)
	h := _step_at(g, ops, 7)
}
