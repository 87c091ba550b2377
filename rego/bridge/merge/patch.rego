package bridge.merge

import data.bridge.lib.leaves

# METADATA
# description: |
#   Sides applied one after the other as RFC 7386 patches, the lowest precedence first, except that a null stays in the
#   result as a tombstone (semantics F3). `object.union_n` is that left fold: a null, a scalar or an array in the middle
#   replaces the value of earlier specs, and a later object replaces it in turn. A leaf of the result belongs to the
#   last side that has a leaf there, even with an equal value (semantics O2). A side without fields sets nothing; if no
#   side has fields, the first remains (semantics O3).
patch_sides(sides) := _patch_nonempty([side | some side in sides; side.spec != {}], sides)

_patch_nonempty([], sides) := sides[0]

_patch_nonempty([side], _) := side

_patch_nonempty(sides, _) := {"spec": spec, "origins": _leaf_origins(spec, object.union_n([side.origins | some side in sides]))} if {
	count(sides) > 1
	spec := object.union_n([side.spec | some side in sides])
}

# The origins of a spec's leaves, from those of its sides. If no leaf is within another, these are all.
_leaf_origins(spec, origins) := origins if {
	_no_leaf_within_another(object.keys(origins))
} else := object.filter(origins, leaves.pointers(spec))

# No pointer is the beginning of another. A few built-in functions compare a set of any size.
_no_leaf_within_another(pointers) if {
	text := concat("\n", pointers)
	not strings.any_prefix_match(pointers, split(concat("", [replace(text, "\n", "/\n"), "/"]), "\n"))
	count(split(text, "\n")) == count(pointers)
}

# METADATA
# description: A merged side in the form of results, without tombstones, which stay in its origins (semantics F3).
result_of(side) := plain_side(object.union(object.remove(side, ["spec"]), {"spec": leaves.without_nulls(side.spec)}))
