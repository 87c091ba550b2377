package bridge.effective

import data.bridge.merge

# METADATA
# description: |
#   The order of precedence of joins, including Custom ones. For Custom, both sides are applied, an admin's rule merges
#   them into one spec, and that is an element of the order like any other (semantics F9). `{error}` if the rule fails.
precedence(found, ranked) := {"elements": order(found), "seams": seams(found)} if {
	every join in found {
		join.place != "Custom"
	}
} else := _joined_512(_first_element(found[0]), [object.union(join, {"ranks": ranked}) | some join in array.slice(found, 1, count(found))])

_first_element(join) := {"error": join.error} if {
	join.error
} else := {"elements": join.elements, "seams": join.seams}

_join(acc, _) := acc if acc.error

_join(acc, join) := {"error": join.error} if {
	not acc.error
	join.error
}

_join(acc, join) := _custom_element(merge.custom_merge(join, established, challenger)) if {
	join.place == "Custom"
	not acc.error
	not join.error
	own := apply_order({"elements": join.elements, "seams": join.seams}, join.ranks)
	others := apply_order(acc, join.ranks)
	[established, challenger] := {true: [own, others], false: [others, own]}[join.upward]
}

_join(acc, join) := {"elements": order(pair), "seams": seams(pair)} if {
	join.place != "Custom"
	not acc.error
	not join.error
	pair := [object.union(acc, {"place": "Alone", "rules": []}), join]
}

_custom_element(made) := {"error": made.error} if {
	made.error
} else := {"elements": [made], "seams": []}

_joined_at(acc, found, index) := acc if index >= count(found)

_joined_at(acc, found, index) := _join(acc, found[index]) if index < count(found)

# A fold as in `bridge.lib.recursion`.
_joined_512(acc, found) := _joined_64(acc, found) if count(found) <= 64

_joined_512(acc, found) := h if {
	count(found) > 64
	a := _joined_64(acc, array.slice(found, 0, 64))
	b := _joined_64(a, array.slice(found, 64, 128))
	c := _joined_64(b, array.slice(found, 128, 192))
	d := _joined_64(c, array.slice(found, 192, 256))
	e := _joined_64(d, array.slice(found, 256, 320))
	f := _joined_64(e, array.slice(found, 320, 384))
	g := _joined_64(f, array.slice(found, 384, 448))
	h := _joined_64(g, array.slice(found, 448, 512))
}

_joined_64(acc, found) := _joined_8(acc, found) if count(found) <= 8

_joined_64(acc, found) := h if {
	count(found) > 8
	a := _joined_8(acc, array.slice(found, 0, 8))
	b := _joined_8(a, array.slice(found, 8, 16))
	c := _joined_8(b, array.slice(found, 16, 24))
	d := _joined_8(c, array.slice(found, 24, 32))
	e := _joined_8(d, array.slice(found, 32, 40))
	f := _joined_8(e, array.slice(found, 40, 48))
	g := _joined_8(f, array.slice(found, 48, 56))
	h := _joined_8(g, array.slice(found, 56, 64))
}

_joined_8(acc, found) := h if {
	a := _joined_at(acc, found, 0)
	b := _joined_at(a, found, 1)
	c := _joined_at(b, found, 2)
	d := _joined_at(c, found, 3)
	e := _joined_at(d, found, 4)
	f := _joined_at(e, found, 5)
	g := _joined_at(f, found, 6)
	h := _joined_at(g, found, 7)
}
