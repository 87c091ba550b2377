package bridge.index_bounds_test

import data.bridge.index
import data.bridge.testing

_policy(spec) := testing.with_spec(testing.resource("example.com/v1", "ColorPolicy", "shop", "wide"), spec)

_leaves(number) := {sprintf("field%d", [index]): index | some index in numbers.range(1, number)}

_nested(number) := json.unmarshal(concat("", [
	concat("", [`{"a":` | some _ in numbers.range(1, number)]),
	"1",
	concat("", ["}" | some _ in numbers.range(1, number)]),
]))

_refs(number) := [testing.service_ref(sprintf("s%d", [index])) | some index in numbers.range(1, number)]

test_policy_of_usual_size_is_within_the_bounds if {
	not index.excess(_policy({"targetRefs": _refs(16), "color": "red"}))
	not index.excess({"apiVersion": "a/v1", "kind": "B", "metadata": {"name": "c"}})
}

test_policy_of_nearly_three_thousand_leaves_is_within_the_bounds if {
	not index.excess(_policy({"targetRefs": _refs(1), "strategy": "patch", "values": _leaves(2990)}))
}

test_policy_with_more_leaves_than_the_bound_is_named_with_bound_and_count if {
	index.excess(_policy(_leaves(11))) == "Policy has 11 values; at most 10 are allowed" with data.bridge_settings.bounds as {"leaves": 10}
	not index.excess(_policy(_leaves(10))) with data.bridge_settings.bounds as {"leaves": 10}
}

test_values_in_lists_count_as_leaves if {
	index.excess(_policy({"list": [[1, 2], {}, [], "x"]})) == "Policy has 5 values; at most 4 are allowed" with data.bridge_settings.bounds as {"leaves": 4}
}

test_commas_quotes_and_brackets_in_text_count_as_nothing if {
	tricky := {"a,b": `,\",{[`, `"`: ",,,,\\", "c": "\\\","}
	not index.excess(_policy(tricky)) with data.bridge_settings.bounds as {"leaves": 3, "depth": 2}
	index.excess(_policy(tricky)) == "Policy has 3 values; at most 2 are allowed" with data.bridge_settings.bounds as {"leaves": 2}
}

test_policy_deeper_than_the_bound_is_named if {
	not index.excess(_policy(_nested(63)))
	index.excess(_policy(_nested(64))) == "Policy is nested deeper than 64 levels, the bound on a policy's depth"
}

test_wide_policy_with_many_brackets_is_not_deep if {
	not index.excess(_policy({"rules": [{"a": {"b": number}} | some number in numbers.range(1, 200)]}))
}

test_policy_with_more_target_refs_than_the_bound_is_named if {
	not index.excess(_policy({"targetRefs": _refs(256)}))
	index.excess(_policy({"targetRefs": _refs(257)})) == "Policy has 257 targetRefs; at most 256 are allowed"
}

test_policy_with_too_many_selectors_is_named if {
	selectors := [{"kind": "Service", "matchLabels": {"a": sprintf("%d", [index])}} | some index in numbers.range(1, 17)]
	index.excess(_policy({"targetSelectors": selectors})) == "Policy has 17 targetSelectors; at most 16 are allowed"
}

test_policy_larger_than_the_bound_is_named if {
	spec := {"text": concat("", ["x" | some _ in numbers.range(1, 100)])}
	index.excess(_policy(spec)) == "Policy has 120 characters of JSON; at most 100 are allowed" with data.bridge_settings.bounds as {"size": 100}
}

test_metadata_and_status_do_not_count if {
	small := _policy({"color": "red"})
	not index.excess(object.union(small, {"status": _leaves(20)})) with data.bridge_settings.bounds as {"leaves": 10}
	not index.excess(object.union(small, {"metadata": {"labels": _leaves(20)}})) with data.bridge_settings.bounds as {"leaves": 10}
}

test_stored_facts_count_while_the_levels_of_modules_are_those_that_they_were_computed_with if {
	route := testing.route("cart", [], [])
	key := "gateway.networking.k8s.io/HTTPRoute/shop/cart"
	stored := {by: {"gateway.networking.k8s.io": {"HTTPRoute": {"shop": {"cart": {"by": by, "sections": ["stored"]}}}}} | some by in ["", "other"]}
	index.facts(key).sections == ["stored"] with data.objects as testing.stored([route]) with data.facts as stored[""]
	index.facts(key).sections != ["stored"] with data.objects as testing.stored([route]) with data.facts as stored.other
}

test_gateway_without_a_possible_class_name_has_no_class if {
	every name in ["", " ", "a/b", null] {
		index.facts_at("Listener", "gateway.networking.k8s.io/Gateway", {"spec": {
			"gatewayClassName": name,
			"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
		}}).class == []
	}
}

test_listener_is_contested_if_a_claim_on_its_port_is_within_its_hostname if {
	listeners := [object.union(testing.listener(name, port), {"hostname": hostname}) | some [name, port, hostname] in [
		["any", 80, ""],
		["wide", 80, "*.shop.test"],
		["one", 80, "a.shop.test"],
		["near", 80, "*.other.test"],
		["alone", 81, "*.shop.test"],
	]]
	contested := {kind: names |
		some kind in ["Gateway", "ListenerSet"]
		names := {listener.name |
			some listener in index.facts_at("Listener", concat("/", ["gateway.networking.k8s.io", kind]), testing.gateway("public", listeners)).listeners
			listener.contested
		}
	}
	contested == {"Gateway": {"any", "wide"}, "ListenerSet": {"any", "wide", "one", "near", "alone"}}
}
