package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   Two keyed sides of the same rules, patched (semantics F8): a list merged by key has the patch's items first, an appended
#   one the established one's (`first`). Where one side has such a list and the other an object, the patch's stands. A patch
#   that is empty sets nothing, not even an empty spec (semantics O3).
patched_by_rules(target, patch, first) := target if {
	patch.spec == {}
} else := {
	"spec": spec,
	"origins": {pointer: object.get(patch.origins, pointer, object.get(target.origins, pointer, null)) |
		some pointer in leaves.pointers(spec)
	},
	"lists": {pointer: list |
		some pointer in (object.keys(target.lists) | object.keys(patch.lists))
		not pointer in replaced
		list := _joined(pointer, target.lists, patch.lists, first)
		is_object(object.get(spec, leaves.segments(pointer), null))
	},
	"units": (target.units | patch.units),
	"rules": patch.rules,
} if {
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

_joined(pointer, target, patch, first) := {"order": _in_order(target[pointer], patch[pointer], first), "append": patch[pointer].append}

_joined(pointer, target, patch, _) := patch[pointer] if not target[pointer]

_joined(pointer, target, patch, _) := target[pointer] if not patch[pointer]

_in_order(target, patch, _) := _followed(patch.order, target.order) if not patch.append

_in_order(target, patch, "patch") := _followed(patch.order, target.order) if patch.append

_in_order(target, patch, "target") := _followed(target.order, patch.order) if patch.append

_followed(names, others) := array.concat(names, [name | some name in others; not name in first]) if {
	first := {name | some name in names}
}
