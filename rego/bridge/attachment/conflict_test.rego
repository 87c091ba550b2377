package bridge.attachment_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.testing

_cart_ref := testing.service_ref("cart")

_older := testing.timeout("older", 1, [_cart_ref], {"request": "1s"})

_younger(refs) := testing.timeout("younger", 2, refs, {"request": "2s"})

# F5, GEP-713 "Merge strategy: None"
test_one_target_belongs_to_the_oldest if {
	_verdicts(_older, [_younger([_cart_ref])]) == [_accepted]
	_verdicts(_younger([_cart_ref]), [_older]) == [[
		"Conflicted",
		"The older TimeoutPolicy/shop/older already targets Service/shop/cart",
	]]
}

# F5
test_of_two_of_one_age_the_first_by_name_has_the_target if {
	_verdicts(testing.timeout("zzz", 1, [_cart_ref], {"request": "2s"}), [_older]) == [[
		"Conflicted",
		"The older TimeoutPolicy/shop/older already targets Service/shop/cart",
	]]
}

# C2
test_a_section_and_its_object_are_two_targets if {
	section := object.union(_cart_ref, {"sectionName": "http"})
	_verdicts(_younger([section]), [_older]) == [_accepted]
}

# K2
test_a_port_by_its_number_holds_nothing if {
	by_number := testing.timeout("older", 1, [object.union(_cart_ref, {"sectionName": "80"})], {"request": "1s"})
	_verdicts(_younger([object.union(_cart_ref, {"sectionName": "http"})]), [by_number]) == [_accepted]
}

# T5
test_a_policy_that_is_being_deleted_holds_no_target if {
	leaving := object.union(_older, {"metadata": {"deletionTimestamp": "2026-01-01T01:00:00Z"}})
	_verdicts(_younger([_cart_ref]), [leaving]) == [_accepted]
}

# F5
test_an_invalid_policy_holds_no_target if {
	invalid := testing.timeout("older", 1, [object.union(_cart_ref, {"sectionName": "gone"}), testing.ref("HTTPRoute", "cart")], {})
	_verdicts(_younger([_cart_ref]), [invalid]) == [_accepted]
}

# F5
test_the_loser_of_one_target_keeps_its_others if {
	other := testing.service("catalog", [])
	_verdicts(_younger([_cart_ref, testing.service_ref("catalog")]), [_older, other]) == [
		["Conflicted", "The older TimeoutPolicy/shop/older already targets Service/shop/cart"],
		_accepted,
	]
}

_hops(namespace, name, minute) := testing.created(
	testing.with_spec(
		testing.resource("example.com/v1", "HopPolicy", namespace, name),
		{"targetRefs": [object.union(_cart_ref, {"namespace": "shop"})], "hops": minute},
	),
	minute,
)

# F5, P6
test_policies_that_count_for_other_requests_do_not_contend if {
	kind := testing.policykind({
		"group": "example.com",
		"kind": "HopPolicy",
		"class": "Direct",
		"crossNamespace": "Consumer",
		"targets": [{"group": "", "kind": "Service"}],
	})
	for_all := [kind, _hops("", "everywhere", 1), _hops("team", "theirs", 2)]
	_verdicts(_hops("shop", "own", 3), for_all) == [[
		"Conflicted",
		"The older HopPolicy/everywhere already targets Service/shop/cart",
	]]
	_verdicts(_hops("other", "for-their-requests", 3), for_all) == [_accepted]
	_verdicts(_hops("team", "again", 3), for_all) == [[
		"Conflicted",
		"The older HopPolicy/team/theirs already targets Service/shop/cart",
	]]
}

# F5: only kinds for consumers distinguish the requests of one namespace (P6).
test_a_granted_policy_of_another_namespace_conflicts_with_the_targets_own if {
	granted := [
		testing.policykind(object.union(testing.timeout_kind, {"kind": "FarPolicy", "crossNamespace": "ReferenceGrant"})),
		testing.grant("shop", "example.com", "FarPolicy", "infra", "", "Service"),
	]
	own := object.union(_older, {"kind": "FarPolicy"})
	far_ref := object.union(_cart_ref, {"namespace": "shop"})
	far := object.union(_younger([far_ref]), {"kind": "FarPolicy", "metadata": {"namespace": "infra"}})
	_verdicts(far, granted) == [_accepted]
	_verdicts(far, array.concat(granted, [own])) == [[
		"Conflicted",
		"The older FarPolicy/shop/older already targets Service/shop/cart",
	]]
}

_shared_kind(fields) := testing.policykind(object.union(
	{"group": "example.com", "kind": "TimeoutPolicy", "sameLevel": "ConflictOnOverlap", "targets": [{"kind": "Service", "sections": true}]},
	fields,
))

_direct := _shared_kind({"class": "Direct"})

_numbered(number, spec) := testing.timeout(sprintf("p%d", [number]), number, [_cart_ref], spec)

# The messages of the verdicts on policies with these specs on one Service, the older ones first.
_conflicts(kind, specs) := messages if {
	policies := [_numbered(index, spec) | some index, spec in specs]
	messages := _messages(count(specs)) with input as _world(array.concat([kind], policies))
}

_messages(number) := [verdict.message |
	some index in numbers.range(0, number - 1)
	[verdict] := attachment.verdicts(sprintf("example.com/TimeoutPolicy/shop/p%d", [index]))
]

# The fixtures' own description of the kind gives way to this one.
_world(objects) := {"changes": {"upsert": array.concat([obj | some obj in testing.world; obj.metadata.name != "timeoutpolicy"], objects)}}

_fine := "Policy has been accepted"

# F5
test_a_younger_policy_conflicts_only_at_fields_that_an_older_one_sets if {
	_conflicts(_direct, [{"request": "1s"}, {"idle": "2s"}]) == [_fine, _fine]
	_conflicts(_direct, [{"request": "1s"}, {"idle": "2s", "request": "3s"}]) == [
		_fine,
		"The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets request too",
	]
}

# F5: whatever the values.
test_equal_values_overlap_too if {
	_conflicts(_direct, [{"request": "1s"}, {"request": "1s"}])[1] != _fine
	_conflicts(_direct, [{"request": null}, {"request": "1s"}])[1] != _fine
}

# F5
test_a_leaf_overlaps_with_its_container_either_way if {
	_conflicts(_direct, [{"a": {"b": 1}}, {"a": {"c": 1}}]) == [_fine, _fine]
	_conflicts(_direct, [{"a": {"b": 1}}, {"a": 1}])[1] == "The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets a too"
	_conflicts(_direct, [{"a": [1]}, {"a": {"b": 1}}])[1] == "The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets a too"
	_conflicts(_direct, [{"a": 1}, {"ab": 1}]) == [_fine, _fine]
	_conflicts(_direct, [{"a/b": 1}, {"a": {"b": 1}}]) == [_fine, _fine]
	_conflicts(_direct, [{}, {"a": 1}])[1] == "The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets the whole spec too"
}

# F5: oldest first.
test_a_policy_that_lost_takes_no_part_in_later_comparisons if {
	_conflicts(_direct, [{"a": 1}, {"a": 1, "b": 1}, {"b": 1}]) == [
		_fine,
		"The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets a too",
		_fine,
	]
	_conflicts(_direct, [{"a": 1}, {"b": 1}, {"b": 2, "c": 1}, {"c": 1}])[2] == "The older TimeoutPolicy/shop/p1 already targets Service/shop/cart and sets b too"
}

# C2
test_disjoint_specs_on_one_target_are_united if {
	policies := [_numbered(0, {"a": {"x": 1}}), _numbered(1, {"b": 1, "a": {"x": 2}}), _numbered(2, {"a": {"y": 3}}), _numbered(3, {"c": 4})]
	[entry] := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/cart", "") with input as _world(array.concat([_direct], policies))
	entry.spec == {"a": {"x": 1, "y": 3}, "c": 4}
	[placed.outcome | some placed in entry.policies] == ["Programmed", "Programmed", "Programmed"]
}

# C2: no more than that of one target.
test_disjoint_specs_of_an_object_and_its_section_are_not_united if {
	section := testing.timeout("section", 5, [object.union(_cart_ref, {"sectionName": "http"})], {"b": 1})
	[entry] := effective.policies_of("example.com/TimeoutPolicy", "core/Service/shop/cart#http", "") with input as _world([_direct, _numbered(0, {"a": 1}), section])
	entry.spec == {"b": 1}
}

# F5
test_an_inherited_kind_may_have_conflicts_on_overlap_too if {
	inherited := _shared_kind({"effectiveTarget": "Backend", "defaultStrategy": "PatchDefaults"})
	_conflicts(inherited, [{"a": 1}, {"b": 1}, {"a": 2}]) == [
		_fine,
		_fine,
		"The older TimeoutPolicy/shop/p0 already targets Service/shop/cart and sets a too",
	]
}

# T1, F5: a target is one, whatever the paths.
test_refs_that_are_limited_to_two_classes_conflict_all_the_same if {
	policies := [testing.timeout(sprintf("p%d", [index]), index, [object.union(_cart_ref, {"className": class})], {"a": 1}) |
		some index, class in ["a", "b"]
	]
	kind := _shared_kind({"effectiveTarget": "Backend", "sameLevel": "Conflict"})
	messages := _messages(2) with input as _world(array.concat([kind], policies))
	messages == [_fine, "The older TimeoutPolicy/shop/p0 already targets Service/shop/cart"]
}

# F5: more steps than one fold of eight has.
test_many_policies_share_a_target if {
	specs := [{sprintf("f%d", [number % 70]): 1} | some number in numbers.range(0, 79)]
	messages := _conflicts(_direct, specs)
	count([1 | some message in messages; message == _fine]) == 70
	messages[75] == "The older TimeoutPolicy/shop/p5 already targets Service/shop/cart and sets f5 too"
}
