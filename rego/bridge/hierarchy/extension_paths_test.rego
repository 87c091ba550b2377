package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.outcomes
import data.bridge.testing

# Zones in the namespace infra, by their names, and links between them.
_zones(names) := [testing.resource("acme.io/v1", "Zone", "infra", name) | some name in names]

_zone(name) := sprintf("acme.io/Zone/infra/%s", [name])

_zone_links(pairs) := {"acme": {
	"levels": {"acme.io/Zone": {"object": "Zone"}},
	"links": {[_zone(pair[0]), _zone(pair[1])] | some pair in pairs},
}}

_zone_paths(names, pairs, target) := {short |
	paths := hierarchy.paths(_zone(target), false) with data.bridge.extensions.hierarchy as _zone_links(pairs)
		with input as {"changes": {"upsert": _zones(names)}}
	some path in paths
	short := [trim_prefix(node, "acme.io/Zone/infra/") | some node in path]
}

# P7
test_a_cycle_of_two_is_cut_at_the_first_repeated_key if {
	pairs := [["a", "b"], ["b", "a"], ["a", "t"]]
	_zone_paths(["a", "b", "t"], pairs, "t") == {["b", "a", "t"]}
	_zone_paths(["a", "b", "t"], pairs, "a") == {["b", "a"]}
}

# P7
test_a_cycle_of_three_is_cut_at_the_first_repeated_key if {
	_zone_paths(["a", "b", "c"], [["a", "b"], ["b", "c"], ["c", "a"]], "c") == {["a", "b", "c"]}
}

# P7
test_a_cycle_of_an_extension_is_cut if {
	_zone_paths(["a"], [["a", "a"]], "a") == {["a"]}
}

# P7: the way out of the cycle is a path of its own.
test_a_cycle_with_a_way_out_has_both_paths if {
	pairs := [["a", "b"], ["b", "a"], ["a", "t"], ["root", "b"]]
	_zone_paths(["a", "b", "t", "root"], pairs, "t") == {["b", "a", "t"], ["root", "b", "a", "t"]}
}

# P1
test_two_ways_that_share_no_cycle_are_two_paths if {
	pairs := [["r", "a"], ["r", "b"], ["a", "t"], ["b", "t"]]
	_zone_paths(["a", "b", "r", "t"], pairs, "t") == {["r", "a", "t"], ["r", "b", "t"]}
}

test_a_walk_above_the_bound_is_marked if {
	names := [sprintf("z%02d", [number]) | some number in numbers.range(0, 20)]
	pairs := [[names[index], names[index + 1]] | some index in numbers.range(0, 19)]
	{count(path) | some path in _zone_paths(names, pairs, "z20")} == {18}
	{path[0] | some path in _zone_paths(names, pairs, "z20")} == {hierarchy.path_bound_mark}
	{count(path) | some path in _zone_paths(names, pairs, "z15")} == {16}
}

test_a_cycle_is_reported_with_the_links_that_do_not_count if {
	modules := _zone_links([["a", "b"], ["b", "a"], ["a", "t"]])
	links := hierarchy.rejected_links(_zone("t")) with data.bridge.extensions.hierarchy as modules
		with input as {"changes": {"upsert": _zones(["a", "b", "t"])}}
	[[link.parent, link.child, link.reason] | some link in links] == [
		[_zone("b"), _zone("a"), "Cycle"],
		[_zone("a"), _zone("b"), "Cycle"],
	]
	links[0].message == concat("", [
		"Zone infra/b is already below Zone infra/a: ",
		"an extension's links form a cycle, and paths are cut there",
	])
}

# P7
test_the_name_of_a_cut_path_shows_the_cut if {
	pairs := [["a", "b"], ["b", "a"]]
	modules := {"acme": object.union(_zone_links(pairs).acme, {"levels": {"acme.io/Zone": {"object": "Gateway"}}})}
	kind := testing.policykind({"group": "acme.io", "kind": "Fence", "effectiveTarget": "Gateway"})
	policy := testing.with_spec(
		testing.resource("acme.io/v1", "Fence", "infra", "f"),
		{"targetRefs": [{"group": "acme.io", "kind": "Zone", "name": "a"}], "high": 3},
	)
	rows := outcomes.outcomes_at("acme.io/Fence", _zone("b")) with data.bridge.extensions.hierarchy as modules
		with input as {"changes": {"upsert": array.concat(_zones(["a", "b"]), [kind, policy])}}
	[[row.outcome, row.scope] | some row in rows] == [[
		"Programmed",
		"Zone.acme.io infra/a > Zone.acme.io infra/b (cut: links of an extension lead back to acme.io/Zone/infra/b)",
	]]
}
