package bridge.kinds_test

import data.bridge.kinds
import data.bridge.testing

_undescribed_of(objects) := found if {
	found := kinds.undescribed with input as {"changes": {"upsert": objects}}
}

_rate_type := "acme.io/RatePolicy"

_rate(spec) := testing.with_spec(testing.resource("acme.io/v1", "RatePolicy", "shop", "limits"), spec)

_to_gateway := {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}

# K6
test_a_crd_whose_schema_has_target_refs_is_reported if {
	every field, shape in {
		"targetRef": {"type": "object", "properties": _ref_fields},
		"targetRefs": _list_of_refs({}),
		"targetSelectors": _list_of_refs({}),
	} {
		found := _undescribed_of([_crd("", _schema({field: shape}, {}))])
		found[_rate_type].crd == _crd_key
	}
}

# K6
test_a_crd_that_scales_something_is_not_reported if {
	scaled := {"targetRef": {"type": "object", "properties": object.union(_ref_fields, {"apiVersion": {"type": "string"}})}}
	_undescribed_of([_crd("", _schema(scaled, {}))]) == {}
}

# K6
test_a_described_kind_is_not_reported if {
	_undescribed_of([_crd("", _plain), _rate_kind("rates", 1, {})]) == {}
	_undescribed_of([_rate({"targetRef": _to_gateway}), _rate_kind("rates", 1, {})]) == {}
}

# K6
test_an_object_with_target_refs_is_reported_without_its_crd if {
	every spec in [{"targetRef": _to_gateway}, {"targetRefs": [_to_gateway]}, {"targetSelectors": [{"kind": "Gateway"}]}] {
		found := _undescribed_of([_rate(spec)])
		not found[_rate_type].crd
		startswith(found[_rate_type].message, "no policy kind describes it")
	}
	_undescribed_of([_rate({"rate": 5})]) == {}
	_undescribed_of([_rate({"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}})]) == {}
}

# K6
test_stored_objects_are_reported if {
	key := "acme.io/RatePolicy/shop/limits"
	objects := {"acme.io": {"RatePolicy": {"shop": {"limits": _rate({"targetRef": _to_gateway})}}}}
	index := {"attached": {_rate_type: {"gateway.networking.k8s.io/Gateway/shop/public": {key: true}}}}
	found := kinds.undescribed with data.objects as objects with data.index as index with data.kinds as {}
	object.keys(found) == {_rate_type}
}

# K6
test_stored_objects_with_selectors_alone_are_reported if {
	key := "acme.io/RatePolicy/shop/limits"
	objects := {"acme.io": {"RatePolicy": {"shop": {"limits": _rate({"targetSelectors": [{"kind": "Gateway"}]})}}}}
	index := {"selectors": {"shop": {"/Gateway": {"{}": {key: true}}}}}
	found := kinds.undescribed with data.objects as objects with data.index as index with data.kinds as {}
	object.keys(found) == {_rate_type}
}

# K6
test_the_near_match_is_part_of_the_message if {
	typo := object.union(_rate({"targetRef": _to_gateway}), {"kind": "RatePolcy"})
	found := _undescribed_of([typo, _rate_kind("rates", 1, {})])
	found["acme.io/RatePolcy"].near == _rate_type
	endswith(found["acme.io/RatePolcy"].message, "did you mean acme.io/RatePolicy?")
}

# K6
test_the_status_of_an_inactive_policy_kind_has_the_reason if {
	refused := _rate_kind("rates", 1, {"class": "Sideways"})
	_undescribed_of([_crd("", _plain), _rate({"targetRef": _to_gateway}), refused]) == {}
}
