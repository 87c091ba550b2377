package bridge.effective

import data.bridge.merge

# METADATA
# description: |
#   The order of precedence of policies on a path, lowest first (semantics F2), from `joins`, the sides in the order in which they
#   are joined; the first one starts. Each has `elements`, an order of its own, and `place`, where its join puts it: `Below` or
#   `Above` the order so far, `Alone` in place of it, `Out`. In closed form: the last side that was put alone, or the first one, with
#   the sides that were put below it since, the last one lowest, and those that were put above it, the last one highest.
order(joins) := joins[0].elements if {
	count(joins) == 1
} else := [element | some join in array.concat(array.concat(below, [base]), above); some element in join.elements] if {
	[below, base, above] := _parts_of_order(joins)
}

# METADATA
# description: |
#   The merge rules between each two elements of the order, those of the join that brought them together (semantics F7).
seams(joins) := array.concat(
	[rules | some join in below; some rules in array.concat(join.seams, [join.rules])],
	array.concat(base.seams, [rules | some join in above; some rules in array.concat([join.rules], join.seams)]),
) if {
	[below, base, above] := _parts_of_order(joins)
}

# The joins that are left, those below the base with the lowest first.
_parts_of_order(joins) := [
	array.reverse([join | some join in later; join.place == "Below"]),
	joins[base],
	[join | some join in later; join.place == "Above"],
] if {
	base := max(array.concat([0], [index | some index, join in joins; join.place == "Alone"]))
	later := array.slice(joins, base + 1, count(joins))
}

# METADATA
# description: Where a fold that goes up puts a side by the strategy of that side, which is the established one.
place_upward := {
	"None": "Out",
	"AtomicDefaults": "Out",
	"AtomicOverrides": "Alone",
	"PatchDefaults": "Below",
	"PatchOverrides": "Above",
	"Custom": "Custom",
}

# METADATA
# description: Where a fold that goes down puts a side, which is the challenger, by the strategy of the pair.
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
#   The specs of an order `{elements, seams}` applied one after the other, as one side. `ranks` has by policy its place in the order
#   of appended items, of a kind with merge rules.
apply_order(ordered, ranks) := merge.patch_sides([side(element) | some element in ordered.elements]) if {
	ranks == {}
} else := merge.patch_sides_by_rules([side(element) | some element in ordered.elements], ordered.seams, ranks)
