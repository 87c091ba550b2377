package bridge.effective

import data.bridge.merge

# METADATA
# description: |
#   The order of precedence of policies on a path, lowest first (semantics F2), from `joins`, the sides in the order in
#   which they are joined; the first one starts. Each has `elements`, its own order, and `place`, the position of its
#   join: `Below` or `Above` the order so far, `Alone` instead of it, `Out`. In closed form: the last side with `Alone`,
#   or the first one, together with the later sides with `Below`, the last one lowest, and those with `Above`, the last
#   one highest.
order(joins) := joins[0].elements if {
	count(joins) == 1
} else := [element | some join in array.concat(array.concat(below, [base]), above); some element in join.elements] if {
	[below, base, above] := _parts_of_order(joins)
}

# METADATA
# description: |
#   The merge rules between each two elements of the order, those of the join that connected them (semantics F7).
seams(joins) := array.concat(
	[rules | some join in below; some rules in array.concat(join.seams, [join.rules])],
	array.concat(base.seams, [rules | some join in above; some rules in array.concat([join.rules], join.seams)]),
) if {
	[below, base, above] := _parts_of_order(joins)
}

# The remaining joins, those below the base with the lowest first.
_parts_of_order(joins) := [
	array.reverse([join | some join in later; join.place == "Below"]),
	joins[base],
	[join | some join in later; join.place == "Above"],
] if {
	base := max(array.concat([0], [index | some index, join in joins; join.place == "Alone"]))
	later := array.slice(joins, base + 1, count(joins))
}

# METADATA
# description: The place of a side in a fold that goes up, by the strategy of that side, which is the established one.
place_upward := {
	"None": "Out",
	"AtomicDefaults": "Out",
	"AtomicOverrides": "Alone",
	"PatchDefaults": "Below",
	"PatchOverrides": "Above",
	"Custom": "Custom",
}

# METADATA
# description: The place of a side in a fold that goes down, which is the challenger, by the strategy of the pair.
place_downward := {
	"None": "Alone",
	"AtomicDefaults": "Alone",
	"AtomicOverrides": "Out",
	"PatchDefaults": "Above",
	"PatchOverrides": "Below",
	"Custom": "Custom",
}

# METADATA
# description: |
#   The specs of an order `{elements, seams}`, applied one after the other, as one side. `ranks` maps each policy to its
#   position in the order of appended items, for a kind with merge rules.
apply_order(ordered, ranks) := merge.patch_sides([side(element) | some element in ordered.elements]) if {
	ranks == {}
} else := merge.patch_sides_by_rules([side(element) | some element in ordered.elements], ordered.seams, ranks)
