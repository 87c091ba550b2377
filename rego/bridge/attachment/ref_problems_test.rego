package bridge.attachment_test

import data.bridge.attachment
import data.bridge.testing

_verdicts_on(spec) := _verdicts(testing.with_spec(testing.resource("example.com/v1", "ColorPolicy", "shop", "warm"), spec), [])

_good := testing.ref("HTTPRoute", "cart")

# T2, T4: nothing is lost silently.
test_a_ref_that_is_malformed_is_invalid_by_itself if {
	cases := [
		[null, "spec.targetRefs[1] is not an object"],
		["public", "spec.targetRefs[1] is not an object"],
		[{}, "spec.targetRefs[1].kind is missing or empty"],
		[{"kind": "Gateway"}, "spec.targetRefs[1].name is missing or empty"],
		[{"kind": "Gateway", "name": ""}, "spec.targetRefs[1].name is missing or empty"],
		[{"kind": "Gateway", "name": null}, "spec.targetRefs[1].name is missing or empty"],
		[{"kind": "Gateway", "name": 3}, "spec.targetRefs[1].name is not a string"],
		[{"kind": "Gateway", "name": "x", "sectionName": 80}, "spec.targetRefs[1].sectionName is not a string"],
		[{"kind": "Gateway", "name": "x", "className": []}, "spec.targetRefs[1].className is not a string"],
		[{"kind": "Gateway", "name": "a/b"}, `spec.targetRefs[1].name: "a/b" is not a valid name`],
		[{"group": "x#y", "kind": "Gateway", "name": "x"}, `spec.targetRefs[1].group: "x#y" is not a valid name`],
		[{"group": "/v1", "kind": "Gateway", "name": "x"}, `spec.targetRefs[1].group: "/v1" is not a valid name`],
		[{"kind": "Gateway", "name": "x", "sectionName": "a@b"}, `spec.targetRefs[1].sectionName: "a@b" is not a valid name`],
	]
	every case in cases {
		_verdicts_on({"targetRefs": [_good, case[0], _good]}) == [_accepted, ["Invalid", case[1]], _accepted]
	}
}

test_every_ref_is_either_read_or_reported_why_not if {
	every raw in [null, {}, {"kind": 1, "name": "x"}, {"kind": "K", "name": "x", "namespace": {}}, {"kind": "a#b", "name": "c"}] {
		message := _verdicts_on({"targetRefs": [raw]})[0][1]
		contains(message, "spec.targetRefs[0]")
	}
	_verdicts_on({"targetRef": "x"}) == [["Invalid", "spec.targetRef is not an object"]]
}

# T1, GEP-713 "The targetRefs stanza"
test_target_ref_and_target_refs_at_once_are_invalid if {
	both := {"targetRef": _good, "targetRefs": [testing.section_ref("HTTPRoute", "cart", "pay"), _good]}
	message := "Policy has both spec.targetRef and spec.targetRefs: remove one of them"
	_verdicts_on(both) == [["Invalid", message], ["Invalid", message]]
	_verdicts_on({"targetRef": _good, "targetRefs": []}) == [_accepted]
	_verdicts_on({"targetRef": null, "targetRefs": [_good]}) == [_accepted]
}

test_refs_that_are_no_list_are_invalid if {
	every odd in ["x", 3, {"a": _good}] {
		_verdicts_on({"targetRefs": odd}) == [["Invalid", "spec.targetRefs is not a list"]]
	}
}

# The ref of a verdict that no object can be named for is the policy itself, so that its status can be kept.
test_a_policy_without_refs_is_reported_under_its_own_name if {
	policy := _color([])
	[verdict] := attachment.verdicts(_warm_key) with input as testing.changed([policy])
	verdict.ref.key == _warm_key
	verdict.message == "Policy names no target: spec.targetRefs is missing or empty"
}

# T1: what two refs name at once is one target.
test_one_ref_twice_is_accepted_twice_and_attached_once if {
	policy := _color([_good, _good])
	_verdicts(policy, []) == [_accepted, _accepted]
	attached := attachment.attached_policies("example.com/ColorPolicy", testing.cart_route) with input as testing.changed([policy])
	attached == {_warm_key}
}
