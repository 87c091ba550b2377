package bridge.proxies

import data.bridge.hierarchy
import data.bridge.proxies.envoy_gateway
import data.bridge.proxies.istio
import data.bridge.proxies.kgateway
import data.bridge.proxies.kuadrant

described contains envoy_gateway.vendor

described contains istio.vendor

described contains kgateway.vendor

described contains kuadrant.vendor

described contains about if about := data.bridge.extensions.proxies[_].vendor

_read := (((envoy_gateway.facts | istio.facts) | kgateway.facts) | kuadrant.facts) | {fact | some fact in data.bridge.extensions.proxies[_].facts}

# METADATA
# description: |
#   What the vendors' rules read from `resources`, `{facts, abouts}`: the facts, with the names that nodes have in the hierarchy. Of
#   what many facts say, `about`, each has the place in `abouts`.
answer := {"facts": [_with_place(_with_nodes(fact), places) | some fact in _read], "abouts": abouts} if {
	abouts := [about | some about in {about | some fact in _read; about := fact.about}]
	places := {about: place | some place, about in abouts}
}

_with_place(fact, places) := object.union(object.remove(fact, ["about"]), {"about": places[fact.about]}) if {
	true
} else := fact

# Most facts have the names of the hierarchy, or none.
_with_nodes(fact) := fact if {
	_is_canonical(object.get(fact, "target", ""))
	_is_canonical(object.get(fact, "via", ""))
} else := object.union(fact, {field: _canonical(fact[field]) | some field in ["target", "via"]})

_is_canonical("")

_is_canonical(node) if _canonical(node) == node

_canonical(node) := hierarchy.canonical_key(node) if {
	true
} else := node
