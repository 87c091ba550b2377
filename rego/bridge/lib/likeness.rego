# METADATA
# title: Likeness
# description: Near matches of misspelled words, for messages.
package bridge.lib.likeness

# METADATA
# description: |
#   The candidate that is most like a text, the first by the alphabet of several; undefined where none is like it. Two texts are
#   like each other by the share of the letter pairs that they have in common (the Sørensen–Dice coefficient).
nearest(text, candidates) := sort({[0 - likeness, candidate] |
	some candidate in candidates
	likeness := _likeness(lower(text), lower(candidate))
	likeness >= 0.6
})[0][1]

# METADATA
# description: What a message says of the near match of a text, empty where there is none.
hint(text, candidates) := sprintf("; did you mean %q?", [nearest(text, candidates)]) if {
	true
} else := ""

_likeness(text, text) := 1

_likeness(one, other) := (2 * count(_pairs(one) & _pairs(other))) / (count(_pairs(one)) + count(_pairs(other))) if one != other

# With a mark at both ends, so that short texts have pairs, too.
_pairs(text) := {substring(marked, index, 2) |
	marked := concat("", ["^", substring(text, 0, 253), "$"])
	some index in numbers.range(0, count(marked) - 2)
}
