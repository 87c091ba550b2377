package bridge.constraints

import data.bridge.effective_targets
import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lib.matches

# METADATA
# description: |
#   The difference between the violations of two states, rows of the query `violations` with `identified`: those that are
#   `introduced`, `fixed` and `unchanged`. A violation is the same if the Constraint, the object, the target and the field
#   are, whatever its message; a worse one is introduced, a better one is unchanged, and one that denies is introduced where
#   none did. A section is the same target if its name is, or what it matches, and a rule also takes no other requests.
compared(before, after) := {
	"introduced": {row | some row in introduced},
	"fixed": {row | some row in before; _same(row, afterwards) == []},
	"unchanged": {row | some row in after; not row in introduced},
} if {
	introduced := introduced_in(before, after)
	afterwards := _by_subject(after)
}

# METADATA
# description: The violations `after` a change that it introduces, see `compared`.
introduced_in(before, after) := {row | some row in after; not _is_known(row, known)} if known := _by_subject(before)

_is_known(row, known) if {
	former := _same(row, known)
	former != []
	_takes_no_more(row, former)
	_is_exempt_as(row, former)
	_is_denied_as(row, former)
	_is_covered(_identity(row).extent, [_identity(one).extent | some one in former])
}

# A rule that takes other requests than before is another one, whatever its name: for these it was another rule's value.
_takes_no_more(row, former) if {
	before := {section | some one in former; some section in _identity(one).sections}
	every section in _identity(row).sections {
		_is_taken_before(keys.type_of(row.object), section, before)
	}
}

_is_taken_before(_, section, _) if not effective_targets.match_in(section)

_is_taken_before(type, section, before) if {
	some other in before
	matches.takes_all(type, effective_targets.match_in(other), effective_targets.match_in(section))
}

# A violation that an exemption no longer covers is a new one.
_is_exempt_as(row, _) if row.enforcementAction == "exempt"

_is_exempt_as(_, former) if {
	some one in former
	one.enforcementAction != "exempt"
}

_is_denied_as(row, _) if row.enforcementAction != "deny"

_is_denied_as(_, former) if {
	some one in former
	one.enforcementAction == "deny"
}

_same(row, known) := [one | some one in known[_subject_of(row)]; _is_same_section(one, row)] if {
	known[_subject_of(row)]
} else := []

_is_same_section(one, other) if {
	some section in _identity(one).sections
	section in _identity(other).sections
}

# A rule, so the cost is that of the rows: a comprehension would read all rows for each subject.
_by_subject(rows) := found if found := _grouped with input as {"rows": rows}

_grouped[subject] contains row if {
	some row in input.rows
	subject := _subject_of(row)
}

_subject_of(row) := [row.constraint, row.object, object.get(row.details, "field", "")]

# A policy that judges single objects distinguishes its violations by their message only.
_identity(row) := row.details.identity if {
	true
} else := {"sections": [""], "extent": row.message}

# A violation of the extent `after` is no worse than those of the extents `before` together: a number is no greater than
# one of them, also each number of an object; each name of a list is in one of them, or below a wildcard; another value is
# the same.
_is_covered(after, before) if {
	is_number(after)
	_is_within(after, before)
}

_is_covered(after, before) if {
	is_array(after)
	names := {name | some extent in before; is_array(extent); some name in extent}
	every name in after {
		_is_named(name, names)
	}
}

_is_covered(after, before) if {
	is_object(after)
	every name, value in after {
		_is_within(value, [extent[name] | some extent in before; is_object(extent)])
	}
}

_is_covered(after, before) if after in before

_is_within(value, values) if value in values

_is_within(value, values) if {
	is_number(value)
	some other in values
	is_number(other)
	value <= other
}

_is_named(name, names) if names[name]

_is_named(_, names) if names["*"]

_is_named(name, names) if {
	some other in names
	hierarchy.is_below_wildcard(name, other)
}
