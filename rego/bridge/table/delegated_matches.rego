package bridge.table

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# A rule may delegate requests to routes (see `bridge.hierarchy.delegates`): their matches are in the table at the listeners of
# the delegating route, for its hostnames (kgateway 2.4, pkg/kgateway/translator/httproute).

# METADATA
# description: |
#   What a rule of a route delegates, `{matches, open}`. `matches` are those of the rules that serve the requests, `{route, index,
#   place, match, through}`: `through` are the delegating rules from the top, as nodes. `open`: of some rule it is unknown
#   which requests it gets, because the bridge follows three steps and does not join a prefix to a regular expression.
delegated(route, index) := {
	"matches": [object.union(object.remove(one, ["matches"]), {"place": place, "match": match}) |
		some one in array.flatten([first.served, second.served, third.served])
		some place, match in one.matches
	],
	"open": [first.open, second.open, third.open, third.further] != [false, false, false, []],
} if {
	rule := lookup.get(route).spec.rules[index]
	node := _node(route, index)
	first := _handed_on([{"rule": node, "matches": hierarchy.written_matches(rule), "through": [node]}])
	second := _handed_on(first.further)
	third := _handed_on(second.further)
}

_node(route, index) := keys.section(route, hierarchy.section_names(route)[index])

# One step of rules that delegate, `{rule, matches, through}`, with what they match: rules that serve the requests, and
# those that delegate them further.
_handed_on(delegating) := {
	"served": [object.filter(one, ["route", "index", "matches", "through"]) | some one in found; not one.further],
	"further": [{"rule": node, "matches": one.matches, "through": array.concat(one.through, [node])} |
		some one in found
		one.further
		node := _node(one.route, one.index)
		not node in one.through
	],
	"open": count([1 | some one in delegating; _is_joined_to_pattern(one)]) > 0,
} if {
	found := [object.union(
		{"route": route, "index": index, "matches": matches, "through": one.through},
		{"further": true | hierarchy.delegates(_node(route, index))},
	) |
		some one in delegating
		some route in hierarchy.children(one.rule)
		levels.of(route) == "Route"
		some index, rule in lookup.get(route).spec.rules
		matches := _matches_within(one.matches, hierarchy.written_matches(rule), hierarchy.inherits_matches(route))
		matches != []
	]
}

_is_joined_to_pattern(delegating) if {
	some outer in delegating.matches
	outer.path.type == "RegularExpression"
	some route in hierarchy.children(delegating.rule)
	hierarchy.inherits_matches(route)
}

# The matches of a rule below others: those within one of these, or, joined with these, if its route inherits matches.
_matches_within(outers, inners, false) := [inner |
	some inner in inners
	some outer in outers
	hierarchy.is_match_within(outer, inner)
]

_matches_within(outers, inners, true) := [object.union_n([
	object.filter(inner, ["method"]),
	object.filter(outer, ["method"]),
	{"path": {"type": object.get(inner, ["path", "type"], "PathPrefix"), "value": path}},
	{field: values |
		some field in ["headers", "queryParams"]
		values := array.concat(object.get(outer, field, []), object.get(inner, field, []))
	},
]) |
	some outer in outers
	object.get(outer, ["path", "type"], "PathPrefix") != "RegularExpression"
	some inner in inners
	path := _joined_path(object.get(outer, ["path", "value"], "/"), object.get(inner, ["path", "value"], "/"))
]

_joined_path(above, below) := joined if {
	joined := trim_right(concat("/", [trim_right(above, "/"), trim(below, "/")]), "/")
	joined != ""
} else := "/"

# The place of a rule in the table that gets its requests through others.
place_through(index, through) := concat(" ", array.concat([sprintf("%d", [index])], through))
