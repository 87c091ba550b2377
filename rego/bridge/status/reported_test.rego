package bridge.status_test

import data.bridge.status
import data.bridge.testing

_zone := "example.com/ZonePolicy/shop/warm"

_zone_kind(fields) := testing.policykind(object.union({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule"}, fields))

_zone_policy(shown) := object.union(_policy, {"kind": "ZonePolicy", "metadata": {"generation": 3}, "status": shown})

_says(type, status, reason) := {"type": type, "status": status, "reason": reason, "message": "by the vendor"}

_entry_of(shown, ancestor) := {
	"controllerName": "vendor.example.com/controller",
	"ancestorRef": ancestor,
	"conditions": shown,
}

_public := {"name": "public", "namespace": "infra"}

_reports(fields, shown, tallies) := object.get(found, "reported", []) if {
	found := status.of_policy(_zone, tallies) with input as testing.changed([_zone_kind(fields), _zone_policy(shown)])
}

_difference(conditions, tallies) := object.get(report, "difference", "") if {
	shown := {"ancestors": [_entry_of(conditions, _public)]}
	report := _reports({"statusShape": "Ancestors"}, shown, tallies)[0]
}

_at_public(outcome, by) := {
	"ancestor": "gateway.networking.k8s.io/Gateway/infra/public",
	"targets": [testing.cart_route],
	"outcome": outcome,
	"by": by,
	"count": 1,
	"examples": ["a"],
}

# S5
test_an_observed_policy_has_the_conditions_of_its_controller if {
	conditions := [_says("Accepted", "True", "Accepted")]
	shown := {"ancestors": [_entry_of(conditions, _public)]}
	_reports({"statusShape": "Ancestors"}, shown, [_at_public("Programmed", [])]) == [{
		"controllerName": "vendor.example.com/controller",
		"ancestorRef": _public,
		"conditions": conditions,
		"says": "Accepted",
		"outdated": false,
	}]
}

# S5
test_conditions_without_ancestors_are_a_report_too if {
	conditions := [_says("Accepted", "True", "Accepted"), _says("Enforced", "True", "Enforced")]
	_reports({}, {"conditions": conditions}, [_everywhere]) == [{"conditions": conditions, "says": "Enforced", "outdated": false}]
}

# S5
test_a_policy_that_the_bridge_manages_or_that_shows_nothing_has_no_reports if {
	managed := {"mode": "Manage", "controllerName": "example.com/zones"}
	_reports(managed, {"conditions": [_says("Accepted", "True", "Accepted")]}, [_everywhere]) == []
	_reports({}, {}, [_everywhere]) == []
}

# S5
test_a_report_that_contradicts_the_verdict_is_explained if {
	every row in [
		[[_says("Accepted", "False", "Conflicted")], [_at_public("Programmed", [])], "reports Conflicted (by the vendor), but Policy Bridge expects Programmed"],
		[[_says("Overridden", "True", "Overridden")], [_at_public("Programmed", [])], "reports Overridden (by the vendor), but Policy Bridge expects Programmed"],
		[[_says("Attached", "False", "Overridden")], [_at_public("Programmed", [])], "reports Overridden (by the vendor), but Policy Bridge expects Programmed"],
		[[_says("Enforced", "False", "Unknown")], [_at_public("Programmed", [])], "reports Unknown (by the vendor), but Policy Bridge expects Programmed"],
		[[_says("Attached", "True", "Merged")], [_at_public("Overridden", ["example.com/ZonePolicy/shop/b"])], "reports Merged, but Policy Bridge expects Overridden (Overridden on 1 path"],
		[[_says("Attached", "True", "Attached")], [], "reports Attached, but Policy Bridge expects NoScope (Policy has no effective target: "],
		[[_says("Programmed", "True", "Programmed")], [], "reports Programmed, but Policy Bridge expects NoScope (Policy has no effective target: "],
	] {
		[conditions, tallies, text] := row
		startswith(_difference(conditions, tallies), concat(" ", ["vendor.example.com/controller", text]))
	}
}

# S5
test_a_report_that_agrees_or_has_less_is_not_a_difference if {
	every row in [
		[[_says("Accepted", "True", "Accepted")], [_at_public("Programmed", [])]],
		[[_says("Accepted", "True", "Accepted")], [_at_public("Overridden", [])]],
		[[_says("Overridden", "True", "Overridden")], [_at_public("Overridden", [])]],
		[[_says("Overridden", "True", "Overridden")], [_at_public("PartiallyProgrammed", [])]],
		[[_says("Merged", "True", "Merged")], [_at_public("Programmed", [])]],
		[[_says("Accepted", "Unknown", "Pending")], [_at_public("Programmed", [])]],
		[[_says("Attached", "True", "Attached")], [_at_public("Overridden", ["example.com/ZonePolicy/shop/b"])]],
	] {
		_difference(row[0], row[1]) == ""
	}
}

test_the_result_is_the_reason_of_the_most_significant_condition if {
	conditions := [
		_says("ResolvedRefs", "True", "Resolved"),
		_says("Accepted", "True", "Valid"),
		_says("Enforced", "True", "Enforced"),
		_says("Overridden", "True", "Overridden"),
		_says("Accepted", "False", "Invalid"),
	]
	words := [status.word(array.slice(conditions, 0, count)) | some count in numbers.range(1, 5)]
	words == ["Resolved", "Valid", "Enforced", "Overridden", "Invalid"]
}

# S5
test_a_refusal_for_another_reason_of_the_specification_is_a_difference if {
	refused := object.union(
		_zone_policy({"ancestors": [
			_entry_of([_says("Accepted", "False", "Conflicted")], _public),
			_entry_of([_says("Accepted", "False", "Invalid")], _public),
			_entry_of([_says("Accepted", "False", "UnsupportedValue")], _public),
		]}),
		{"spec": {"targetRefs": [_gone]}},
	)
	found := status.of_policy(_zone, []) with input as testing.changed([_zone_kind({"statusShape": "Ancestors"}), refused])
	[object.get(report, "difference", "") | some report in found.reported] == [
		"vendor.example.com/controller reports Conflicted (by the vendor), but Policy Bridge expects TargetNotFound (Target HTTPRoute/shop/gone is not found)",
		"vendor.example.com/controller reports Invalid (by the vendor), but Policy Bridge expects TargetNotFound (Target HTTPRoute/shop/gone is not found)",
		"",
	]
}

# S5
test_a_report_of_an_older_generation_is_not_compared if {
	old := object.union(_says("Accepted", "False", "Invalid"), {"observedGeneration": 2})
	shown := {"ancestors": [_entry_of([old], _public)]}
	[report] := _reports({"statusShape": "Ancestors"}, shown, [_at_public("Programmed", [])])
	report.outdated
	not report.difference
}

# S5
test_a_report_is_compared_with_the_verdict_at_its_ancestor if {
	conditions := [_says("Programmed", "True", "Programmed")]
	shown := {"ancestors": [
		_entry_of(conditions, _public),
		_entry_of(conditions, {"name": "internal", "namespace": "infra", "sectionName": "http"}),
	]}
	internal := object.union(_at_public("Overridden", []), {"ancestor": "gateway.networking.k8s.io/Gateway/infra/internal"})
	found := _reports({"statusShape": "Ancestors"}, shown, [_at_public("Programmed", []), internal])
	[startswith(object.get(report, "difference", ""), "vendor") | some report in found] == [false, true]
}

# S5
test_a_status_that_is_invalid_is_no_report if {
	every shown in [
		"text",
		{"conditions": {"a": "b"}, "ancestors": 7},
		{"conditions": ["a", 3, null, {"type": 3, "status": "True"}, {"type": "Accepted", "status": "True", "reason": []}]},
		{"ancestors": [null, "a", {"controllerName": 3}, {"controllerName": "a", "conditions": "b"}]},
	] {
		_reports({}, shown, [_everywhere]) == []
		_reports({"statusShape": "Ancestors"}, shown, [_everywhere]) == []
	}
}

# A folder may have any content.
test_status_of_another_form_has_no_reports if {
	every shown in [
		{"conditions": {"type": "Accepted", "status": "False"}},
		{"conditions": "Accepted"},
		{"conditions": [{"type": "Accepted"}, {"status": "True"}, {"type": 1, "status": "True"}, "Accepted", null]},
		{"conditions": {"a": _says("Accepted", "False", "Invalid")}},
		{"ancestors": [_entry_of({"a": _says("Accepted", "False", "Invalid")}, _public)]},
		{"ancestors": [object.remove(_entry_of([_says("Accepted", "False", "Invalid")], _public), ["controllerName"])]},
	] {
		_reports({}, shown, []) == []
	}
}
