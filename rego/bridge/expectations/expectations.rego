# METADATA
# title: Expectations
# description: |
#   What is not as a suite expects it to be: of `entries`, those of the queries `effective` and `request` with all paths of
#   one policy kind, and of the `expected` part of an expectation. A path without a policy counts: an expectation of a value
#   is about every path. An answer that is not certain meets no expectation.
package bridge.expectations

import data.bridge.effective
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.leaves
import data.bridge.scopes

# METADATA
# description: |
#   Each part of an expectation that does not hold on a path through the node `via` ("" for every path), `{what, …}`. `at`
#   has the `target` and the `policyKind` of entries of the query `effective`; of `request` it is empty.
#     NoPath                                                there is no such path
#     NotAttached {target, path, notAttached}               nothing accepts the route of the path, so no request takes it
#     NotInEffect {target, path}                            no policy is in effect
#     InEffect    {target, path, found}                     a policy is, and `none` is expected
#     Unknown     {target, path, message}                   what is in effect is not known for certain, or the kind has
#                                                           no such field
#     Value       {target, path, pointer, expected?, found?, policies}
#     Present     {target, path, pointer, policies}         a value that is expected to be `absent`
#     Origin      {target, path, pointer, expected, found}  lists of policies
#     Outcome     {target, path, policy, expected, found?}
unmet(entries, expected, via, at) := [{"what": "NoPath"}] if {
	_paths(entries, via) == []
	_needs_path(expected, via, at)
} else := [object.union({"target": target, "path": entry.path}, flaw) |
	some [target, entry, policy_kind] in _paths(entries, via)
	some flaw in array.concat(_flaws(entry, expected), _misspelled(expected, policy_kind))
]

_paths(entries, via) := [[at_target.target, entry, object.get(at_target, "policyKind", "")] |
	some at_target in entries
	some entry in at_target.paths
	_leads_through(entry.path, via)
]

_needs_path(expected, _, _) if not _is_met_by_nothing(expected)

# Where a kind never acts, and on a way that no request takes, nothing is in effect for ever. Below a Gateway of another
# controller this says something.
_needs_path(_, via, at) if {
	at.target
	every node in scopes.scopes_at_or_below(at.policyKind, hierarchy.canonical_key(at.target)) {
		every path in hierarchy.all_kind_paths(at.policyKind, node) {
			not _leads_through(path, via)
		}
	}
}

_leads_through(_, "")

_leads_through(path, via) if via in path

_leads_through(path, via) if {
	via != ""
	some node in path
	startswith(node, concat("", [via, "#"]))
}

_flaws(entry, expected) := [{"what": "Unknown", "message": message}] if {
	message := effective.unknown_because(entry)
} else := [{"what": "NotAttached", "notAttached": entry.notAttached}] if {
	entry.notAttached
} else := [{"what": "NotInEffect"} | not _is_met_by_nothing(expected)] if {
	entry.policies == []
} else := [{"what": "InEffect", "found": entry.spec}] if {
	expected.none
} else := array.flatten([
	[object.union({"what": "Value"}, flaw) | some [_, flaw] in sort({[flaw.pointer, flaw] | some flaw in _differing(entry, expected)})],
	[{"what": "Present", "pointer": pointer, "policies": _policies_at(entry, pointer)} |
		some pointer in expected.absent
		effective.has_value(entry, pointer)
	],
	[{"what": "Unknown", "message": why} | some pointer in _empty_at(expected); why := effective.obstacle(entry, pointer)],
	[{"what": "Origin", "pointer": pointer, "expected": sort(wanted), "found": found} |
		some pointer, wanted in expected.origins
		found := _policies_at(entry, pointer)
		found != sort({policy | some policy in wanted})
	],
	[object.union({"what": "Outcome", "policy": policy, "expected": wanted}, {"found": outcome | some outcome in found}) |
		some policy, wanted in expected.outcomes
		found := {one.outcome | some one in entry.policies; one.policy == policy}
		found != {wanted}
	],
])

_misspelled(expected, policy_kind) := [{"what": "Unknown", "message": message} |
	some pointer in _empty_at(expected)
	message := kinds.unknown_field(policy_kind, effective.segments(pointer))
]

# The fields that are expected to be absent, or of no policy: a misspelled one always is.
_empty_at(expected) := {pointer | some pointer in expected.absent} | {pointer | some pointer, policies in expected.origins; count(policies) == 0}

# Without a policy `none` holds, and so does that something is absent; what else is expected is not there.
_is_met_by_nothing(expected) if expected.none

_is_met_by_nothing(expected) if {
	count(object.get(expected, "absent", [])) > 0
	object.filter(expected, ["spec", "origins", "outcomes"]) == {}
	not expected.exact
}

# The values in which what is in effect differs from the expected `spec`, `{pointer, expected?, found?, policies}`; a mapping
# may have more fields than expected, unless `exact`.
_differing(entry, expected) := set() if {
	not expected.spec
	not expected.exact
} else := _differing_fields(entry, expected, object.get(expected, "spec", {}))

_differing_fields(entry, expected, wanted) := _differences(entry, expected, "", wanted, entry.spec) if {
	is_object(entry.spec)
} else := {flaw |
	# Where every policy applies, a list is about each policy, in order;
	some place, spec in entry.spec
	some flaw in _differences(entry, expected, sprintf("/%d", [place]), wanted[place], spec)
} if {
	is_array(wanted)
	count(wanted) == count(entry.spec)
} else := set() if {
	# a mapping is about any of them.
	some spec in entry.spec
	_differences(entry, expected, "", wanted, spec) == set()
} else := _differences(entry, expected, "", wanted, entry.spec[0]) if {
	is_object(wanted)
	count(entry.spec) == 1
} else := {_described(entry, "", "", [wanted], [entry.spec])}

_differences(entry, expected, base, wanted, found) := {_described(entry, base, leaves.pointer(place), _at(wanted, place), _at(found, place)) |
	some place in (_first_differences(wanted, found) | {extra | expected.exact; some extra in _first_extras(wanted, found)})
}

# For each expected leaf, the place nearest to the root with another value than expected.
_first_differences(wanted, found) := {places[0] |
	some segments in _leaf_places(wanted)
	places := [place |
		some end in numbers.range(0, count(segments))
		place := array.slice(segments, 0, end)
		not _agree(_at(wanted, place), _at(found, place))
	]
}

_agree(same, same)

_agree([wanted], [found]) if {
	is_object(wanted)
	is_object(found)
}

# For each leaf that is found, the place nearest to the root that is not expected.
_first_extras(wanted, found) := {places[0] |
	some segments in _leaf_places(found)
	places := [place |
		some end in numbers.range(1, count(segments))
		place := array.slice(segments, 0, end)
		[above] := _at(wanted, array.slice(place, 0, end - 1))
		is_object(above)
		_at(wanted, place) == []
	]
}

_leaf_places(value) := {leaves.segments(pointer) | some pointer in leaves.pointers(value)}

# The value at a place, in a list, or none.
_at(value, segments) := [found |
	found := object.get({"": value}, array.concat([""], segments), _nothing)
	found != _nothing
]

# No value of JSON.
_nothing := {"nothing"}

# `base` is the place of one policy's spec where every policy applies.
_described(entry, base, pointer, wanted, found) := object.union_n([
	{"pointer": concat("", [base, pointer]), "policies": _policies_of(entry, base, pointer)},
	{"expected": value | some value in wanted},
	{"found": value | some value in found},
])

_policies_of(entry, "", pointer) := _policies_at(entry, pointer)
_policies_of(entry, base, _) := [entry.origins[base]] if base != ""

_policies_at(entry, pointer) := sort({policy | some one in effective.values_at(entry, pointer); some policy in one.policies})
