package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.scopes
import data.bridge.testing

_fleets := "fleets.example.com"

# Regions have sites, which name them, or which a region of another type selects.
_sites_kind := testing.policykind({
	"group": _fleets,
	"kind": "SitePolicy",
	"class": "Inherited",
	"effectiveTarget": "Backend",
	"targets": [{"group": _fleets, "kind": "Region"}, {"group": _fleets, "kind": "Site"}],
	"hierarchy": [{
		"parent": {"group": _fleets, "kind": "Region"},
		"child": {"group": _fleets, "kind": "Site"},
		"name": "/metadata/labels/region",
		"selector": {"path": "/spec/sites/labels", "where": {"path": "/spec/sites/by", "value": "Labels"}},
	}],
	"defaultStrategy": "PatchDefaults",
})

_site(name, labels) := object.union(testing.resource("fleets.example.com/v1", "Site", "", name), {"metadata": {"labels": labels}})

_region(name, sites) := testing.with_spec(testing.resource("fleets.example.com/v1", "Region", "", name), {"sites": sites})

_region_key(name) := concat("/", [_fleets, "Region/-", name])

_site_key(name) := concat("/", [_fleets, "Site/-", name])

_map := [
	_sites_kind,
	_site("oslo", {"region": "north", "tier": "gold"}),
	_site("rome", {"region": "south", "tier": "gold"}),
	_site("bern", {}),
	_region("north", {}),
	_region("south", {"by": "Name"}),
	_region("all", {"by": "Labels", "labels": {}}),
	_region("gold", {"by": "Labels", "labels": {"matchLabels": {"tier": "gold"}}}),
	_region("none", {"by": "Labels"}),
]

_parents_on_the_map(site, objects) := {keys.parse(parent).name | some parent in found} if {
	found := hierarchy.parents(_site_key(site)) with input as testing.changed(array.concat(_map, objects))
}

_children_on_the_map(region, objects) := {keys.parse(child).name | some child in found} if {
	found := hierarchy.children(_region_key(region)) with input as testing.changed(array.concat(_map, objects))
}

# P11
test_object_is_below_the_parents_that_it_names_or_that_select_it if {
	_parents_on_the_map("oslo", []) == {"north", "all", "gold"}
	_parents_on_the_map("rome", []) == {"south", "all", "gold"}
	_parents_on_the_map("bern", []) == {"all"}
}

# P11
test_parent_has_the_objects_that_name_it_or_that_it_selects if {
	_children_on_the_map("north", []) == {"oslo"}
	_children_on_the_map("gold", []) == {"oslo", "rome"}
	_children_on_the_map("all", []) == {"oslo", "rome", "bern"}
	_children_on_the_map("none", []) == set()
}

# P11
test_parent_that_selects_is_not_named if {
	_children_on_the_map("none", [_site("pisa", {"region": "none"})]) == set()
}

# P11
test_name_of_a_parent_that_does_not_exist_is_no_link if {
	_parents_on_the_map("pisa", [_site("pisa", {"region": "west"})]) == {"all"}
}

# P11
test_value_that_is_no_name_is_no_link if {
	_parents_on_the_map("pisa", [_site("pisa", {"region": 7})]) == {"all"}
	_parents_on_the_map("pisa", [_site("pisa", {"region": "a/b"})]) == {"all"}
}

# P11
test_objects_of_a_parent_are_in_its_own_namespace if {
	near := object.union(testing.resource("fleets.example.com/v1", "Site", "shop", "near"), {"metadata": {"labels": {"region": "north"}}})
	found := hierarchy.parents(keys.of(near)) with input as testing.changed(array.concat(_map, [near]))
	found == set()
}

# P11
test_paths_lead_through_each_parent if {
	found := hierarchy.paths(_site_key("oslo"), false) with input as testing.changed(_map)
	found == {[_region_key(region), _site_key("oslo")] | some region in ["north", "all", "gold"]}
}

# P11
test_kind_acts_on_what_is_below_a_parent if {
	found := scopes.scopes_at_or_below(concat("/", [_fleets, "SitePolicy"]), _region_key("gold")) with input as testing.changed(_map)
	found == {_site_key("oslo"), _site_key("rome")}
}

# P11
test_parents_of_one_type_that_are_above_one_another_form_no_cycle if {
	folders := testing.policykind({
		"group": _fleets,
		"kind": "FolderPolicy",
		"class": "Inherited",
		"effectiveTarget": "Backend",
		"targets": [{"group": _fleets, "kind": "Folder"}],
		"hierarchy": [{"parent": {"group": _fleets, "kind": "Folder"}, "child": {"group": _fleets, "kind": "Folder"}, "name": "/spec/in"}],
	})
	above := testing.with_spec(testing.resource("fleets.example.com/v1", "Folder", "shop", "a"), {"in": "b"})
	below := testing.with_spec(testing.resource("fleets.example.com/v1", "Folder", "shop", "b"), {"in": "a"})
	found := hierarchy.paths(keys.of(above), false) with input as testing.changed([folders, above, below])
	found == {[keys.of(below), keys.of(above)]}
}
