package bridge.effective_test

import data.bridge.effective
import data.bridge.testing

_zone_kind := testing.policykind({"group": "example.com", "kind": "ZonePolicy", "effectiveTarget": "Rule"})

_zone := "example.com/ZonePolicy"

_zoned(ref) := object.union(testing.color("shop", "zoned", 1, [ref], {"zone": "a"}), {"kind": "ZonePolicy"})

_is_untouched(kind, objects) if {
	kinds_at := effective.kinds_at(testing.cart_pay) with input as testing.changed(objects)
	not kind in kinds_at
}

test_a_kind_without_a_policy_on_the_paths_is_untouched if {
	_is_untouched(_zone, [_zone_kind])
	_is_untouched(_zone, [_zone_kind, _zoned(testing.ref("HTTPRoute", "other"))])
}

test_a_kind_with_a_policy_on_the_paths_is_not_untouched_whether_that_counts_or_not if {
	every ref in [
		testing.ref("HTTPRoute", "cart"),
		testing.section_ref("HTTPRoute", "cart", "pay"),
		testing.section_ref("HTTPRoute", "cart", "gone"),
		testing.far_ref("Gateway", "infra", "public"),
	] {
		not _is_untouched(_zone, [_zone_kind, _zoned(ref)])
	}
}

test_a_policy_that_selects_its_targets_is_looked_for_everywhere if {
	selecting := object.union(_zoned(testing.ref("HTTPRoute", "other")), {"spec": {"targetSelectors": [{
		"group": testing.gateway_group,
		"kind": "HTTPRoute",
		"matchLabels": {"a": "b"},
	}]}})
	not _is_untouched(_zone, [_zone_kind, selecting])
}
