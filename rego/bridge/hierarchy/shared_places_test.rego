package bridge.hierarchy_test

import data.bridge.hierarchy
import data.bridge.testing

# A route at a listener with rules of these matches.
_placed(name, listener, hostnames, matches) := testing.with_hostnames(
	testing.route(name, [{"name": "public", "namespace": "infra", "sectionName": listener}], [{"matches": matches}]),
	hostnames,
)

_path(value) := {"path": {"type": "PathPrefix", "value": value}}

_stable := _placed("stable", "http", ["shop.example.com"], [_path("/cart")])

_route_key(name) := concat("/", ["gateway.networking.k8s.io/HTTPRoute/shop", name])

# The names of the routes that share a place with `stable`.
_sharing(routes) := {trim_prefix(route, _route_key("")) | some route in found} if {
	found := hierarchy.routes_sharing_places(_route_key("stable")) with input as testing.changed(array.concat([_stable], routes))
}

# T10
test_routes_share_a_place_whatever_else_they_match if {
	canary := _placed("canary", "http", ["shop.example.com"], [object.union(_path("/cart"), {"headers": [{"name": "version", "value": "canary"}]})])
	_sharing([canary]) == {"canary"}
	_sharing([object.union(canary, {"spec": {"hostnames": ["other.example.com", "SHOP.example.com"]}})]) == {"canary"}
}

test_routes_of_another_port_hostname_or_path_share_no_place if {
	_sharing([
		_placed("port", "alt", ["shop.example.com"], [_path("/cart")]),
		_placed("host", "http", ["blog.example.com"], [_path("/cart")]),
		_placed("path", "http", ["shop.example.com"], [_path("/cart/items"), _path("/pay")]),
		_placed("unbound", "gone", ["shop.example.com"], [_path("/cart")]),
	]) == set()
}

test_one_path_of_several_is_enough_to_share_a_place if {
	_sharing([
		_placed("both", "http", ["shop.example.com"], [_path("/pay"), _path("/cart")]),
		_placed("deep", "http", ["shop.example.com"], [_path("/pay")]),
	]) == {"both"}
}

test_a_rule_without_a_path_is_at_the_root if {
	root := _placed("stable", "http", ["shop.example.com"], [])
	found := hierarchy.routes_sharing_places(_route_key("stable")) with input as testing.changed([
		root,
		_placed("headers", "http", ["shop.example.com"], [{"headers": [{"name": "a", "value": "b"}]}]),
		_placed("slash", "http", ["shop.example.com"], [_path("/")]),
		_placed("cart", "http", ["shop.example.com"], [_path("/cart")]),
	])
	found == {_route_key("headers"), _route_key("slash")}
}

test_stored_routes_share_places_too if {
	objects := array.concat(testing.world, [_stable, _placed("canary", "http", ["shop.example.com"], [_path("/cart")])])
	found := hierarchy.routes_sharing_places(_route_key("stable")) with data.objects as testing.stored(objects)
		with data.index as testing.stored_index(objects)
		with data.kinds as {}
	found == {_route_key("canary")}
}
