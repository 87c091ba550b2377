package bridge.kinds

import data.bridge.lib.leaves

# METADATA
# description: |
#   The `order` of a kind with the strategy Additive in the form for `rank`: `{segments, ranks?, default?, descending}`,
#   where `ranks` has the position of each of the `values` as JSON text.
order_keys(order) := [object.union_n([
	{"segments": leaves.segments(entry.path), "descending": object.get(entry, "descending", false)},
	{"ranks": {json.marshal(value): place | some place, value in entry.values} | entry.values},
	{"default": value | some field, value in entry; field == "default"},
]) |
	some entry in order
]

# METADATA
# description: |
#   The sort key of a policy of a kind with the strategy Additive, the lowest first: for each entry of the kind's
#   `order` `[0, value]`, or `[1, 0]` if the policy has no value for the entry (semantics C4).
rank(policy_kind, obj) := [place |
	some entry in get(policy_kind).order
	value := object.get(obj, entry.segments, object.get(entry, "default", null))
	place := _place(entry, value)
]

_place(entry, value) := [0, entry.ranks[json.marshal(value)]] if {
	true
} else := [1, 0] if {
	entry.ranks
} else := [0, 0 - value] if {
	entry.descending
	is_number(value)
} else := [0, value] if {
	not entry.descending
	value != null
} else := [1, 0]
