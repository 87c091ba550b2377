package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   As `patch_sides`, for sides with merge rules (semantics F7, F8). `seams` has the rules by which each side except the
#   first is applied to the previous ones. `ranks` maps each origin to its position in the order of appended items.
patch_sides_by_rules(sides, seams, ranks) := sides[0] if {
	count(sides) == 1
} else := patch_sides([side_by_rules(side, []) | some side in sides]) if {
	every rules in seams {
		rules == []
	}
} else := _applied_512(sides[0], [{"side": side, "rules": seams[index], "ranks": ranks} |
	some index, side in array.slice(sides, 1, count(sides))
])

# METADATA
# description: A side in the form for these merge rules; without rules every list is a leaf.
side_by_rules(side, merge_rules) := side if {
	object.get(side, "rules", []) == merge_rules
} else := keyed_side(plain.spec, plain.origins, merge_rules) if {
	plain := plain_side(side)
}

_apply_step(target, step) := patch_sides([side_by_rules(target, []), side_by_rules(step.side, [])]) if {
	step.rules == []
} else := _apply_by_key(side_by_rules(target, step.rules), side_by_rules(step.side, step.rules), step.ranks)

# A list merged by key has the patch's items first, an appended one those of the first rank. If one side has such a list
# and the other an object, the patch's value stays. A patch without fields sets nothing.
_apply_by_key(target, patch, _) := target if patch.spec == {}

_apply_by_key(target, patch, ranks) := {
	"spec": spec,
	"origins": {pointer: object.get(patch.origins, pointer, object.get(target.origins, pointer, null)) |
		some pointer in leaves.pointers(spec)
	},
	"lists": {pointer: list |
		some pointer in (object.keys(target.lists) | object.keys(patch.lists))
		not pointer in replaced
		items := object.get(spec, leaves.segments(pointer), null)
		is_object(items)
		list := _list_of(_joint_list(pointer, target.lists, patch.lists), object.keys(items), ranks)
	},
	"units": (target.units | patch.units),
	"rules": patch.rules,
} if {
	patch.spec != {}
	replaced := {pointer |
		some pointer, _ in target.lists
		not patch.lists[pointer]
		is_object(object.get(patch.spec, leaves.segments(pointer), null))
	}
	mixed := replaced | {pointer |
		some pointer, _ in patch.lists
		not target.lists[pointer]
		is_object(object.get(target.spec, leaves.segments(pointer), null))
	}
	spec := object.union(json.remove(target.spec, mixed), patch.spec)
}

_joint_list(pointer, target, patch) := {"order": _names_in_order(patch[pointer].order, target[pointer].order), "append": patch[pointer].append}

_joint_list(pointer, target, patch) := patch[pointer] if not target[pointer]

_joint_list(pointer, target, patch) := target[pointer] if not patch[pointer]

_names_in_order(names, others) := array.concat(names, [name | some name in others; not name in first]) if {
	first := {name | some name in names}
}

# Only remaining items: a null or another value may have removed earlier ones.
_list_of(list, names, _) := {"order": [name | some name in list.order; name in names], "append": false} if not list.append

_list_of(list, names, ranks) := {"order": order, "append": true} if {
	list.append
	order := [name |
		some [_, _, name] in sort([[_rank(parts[0], ranks), to_number(parts[1]), name] |
			some name in list.order
			name in names
			parts := split(name, "#")
		])
	]
}

# Several policies may share an item (semantics F9).
_rank(owner, ranks) := ranks[owner] if {
	true
} else := min([ranks[part] | some part in split(owner, " ")])

# A fold as in `bridge.lib.recursion`.
_applied_512(side, steps) := _applied_64(side, steps) if count(steps) <= 64

_applied_512(side, steps) := h if {
	count(steps) > 64
	a := _applied_64(side, array.slice(steps, 0, 64))
	b := _applied_64(a, array.slice(steps, 64, 128))
	c := _applied_64(b, array.slice(steps, 128, 192))
	d := _applied_64(c, array.slice(steps, 192, 256))
	e := _applied_64(d, array.slice(steps, 256, 320))
	f := _applied_64(e, array.slice(steps, 320, 384))
	g := _applied_64(f, array.slice(steps, 384, 448))
	h := _applied_64(g, array.slice(steps, 448, 512))
}

_applied_64(side, steps) := _applied_8(side, steps) if count(steps) <= 8

_applied_64(side, steps) := h if {
	count(steps) > 8
	a := _applied_8(side, array.slice(steps, 0, 8))
	b := _applied_8(a, array.slice(steps, 8, 16))
	c := _applied_8(b, array.slice(steps, 16, 24))
	d := _applied_8(c, array.slice(steps, 24, 32))
	e := _applied_8(d, array.slice(steps, 32, 40))
	f := _applied_8(e, array.slice(steps, 40, 48))
	g := _applied_8(f, array.slice(steps, 48, 56))
	h := _applied_8(g, array.slice(steps, 56, 64))
}

_applied_8(side, steps) := h if {
	a := _applied_at(side, steps, 0)
	b := _applied_at(a, steps, 1)
	c := _applied_at(b, steps, 2)
	d := _applied_at(c, steps, 3)
	e := _applied_at(d, steps, 4)
	f := _applied_at(e, steps, 5)
	g := _applied_at(f, steps, 6)
	h := _applied_at(g, steps, 7)
}

_applied_at(side, steps, index) := side if index >= count(steps)

_applied_at(side, steps, index) := _apply_step(side, steps[index]) if index < count(steps)
