# METADATA
# title: Likeness
# description: Suggestions for misspelled words in messages.
package bridge.lib.likeness

# The candidate that is most similar to a text, the first by the alphabet of several; undefined if none is similar.
# The similarity of two texts is their share of common letter pairs (the Sørensen–Dice coefficient).
nearest(text, candidates) := sort({[0 - likeness, candidate] |
	some candidate in candidates
	likeness := _likeness(lower(text), lower(candidate))
	likeness >= 0.6
})[0][1]

# The type that is most like a type, of types as `<group>/<Kind>`: one of the same group with a like Kind, else one
# with the same Kind in another group of the same domain, or of one like it. Vendors often give kinds the same names, so
# a Kind of another domain is no misspelling. Undefined where there is neither.
nearest_type(type, types) := concat("/", [group, kind]) if {
	[group, own_kind] := split(type, "/")
	kind := nearest(own_kind, {other | some candidate in types; [group, other] = split(candidate, "/")})
} else := sort({[0 - _likeness(lower(group), lower(other)), candidate] |
	[group, kind] := split(type, "/")
	some candidate in types
	[other, kind] = split(candidate, "/")
	nearest(_domain(group), {_domain(other)})
})[0][1]

# The name of a group's domain, `istio` of security.istio.io.
_domain(group) := array.reverse(split(group, "."))[1] if {
	contains(group, ".")
} else := group

# The hint in a message for a similar name, empty if there is none.
hint(text, candidates) := sprintf("; did you mean %q?", [nearest(text, candidates)]) if {
	true
} else := ""

# The message about the first of these fields of a query's input that the query does not have: a misspelled one would be
# ignored, and the answer would be about another question. Undefined if it has all of them.
unknown_field(fields, known) := sprintf("the input has an unknown field, %s%s", [unknown, hint(unknown, known)]) if {
	unknown := min(fields - known)
}

_likeness(one, other) := (2 * count(_pairs(one) & _pairs(other))) / (count(_pairs(one)) + count(_pairs(other)))

# With a mark at both ends, so short texts have pairs, too.
_pairs(text) := {substring(marked, index, 2) |
	marked := concat("", ["^", substring(text, 0, 253), "$"])
	some index in numbers.range(0, count(marked) - 2)
}
