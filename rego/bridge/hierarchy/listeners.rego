package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.labels
import data.bridge.lib.levels
import data.bridge.lookup

# The listeners of a Gateway or ListenerSet; of two with the same name the first (the API rejects such an object).
listeners(object_key) := index.facts(object_key).listeners

# The listener that is this node. Undefined if there is none.
listener(node) := [found |
	[object_key, name] := split(node, "#")
	some found in listeners(object_key)
	found.name == name
][0]

# METADATA
# description: |
#   The certificates that no ReferenceGrant lets a listener of an object use, because they are in another namespace, as messages
#   by their places (ListenerTLSConfig.certificateRefs).
refused_certificates(object_key, listener) := {place: sprintf("no ReferenceGrant in namespace %s lets %s name %s", [ref.namespace, keys.describe(object_key), keys.describe(key)]) |
	object.get(listener, ["tls", "mode"], "Terminate") == "Terminate"
	some place, ref in listener.tls.certificateRefs
	ref.namespace != keys.namespace(object_key)
	key := keys.named(object.get(ref, "group", ""), object.get(ref, "kind", "Secret"), ref.namespace, ref.name)
	not is_granted(object_key, key)
	not lookup.may_be_unread(concat("/", ["gateway.networking.k8s.io/ReferenceGrant", ref.namespace, "any"]))
}

# METADATA
# description: Why no TLS connection to a listener of an object succeeds, sorted messages; none if one of its certificates may be used.
unusable_certificates(object_key, listener) := sort([message | some message in refused]) if {
	refused := refused_certificates(object_key, listener)
	count(refused) == count(listener.tls.certificateRefs)
} else := []

parents_at("Gateway", gateway) := {class | some class in index.facts(gateway).class; exists(class)}
refused_above("Gateway", gateway) := {[class, "ParentNotFound"] | some class in index.facts(gateway).class; not exists(class)}

# Why a listener does not accept routes of a type from a namespace, as the reason of a route's Accepted condition
# (Gateway API, RouteConditionReason); empty if it does.
listener_rejection(object_key, listener, type, namespace) := unaccepted_listeners(object_key)[listener.name].reason if {
	true
} else := _refusal_by_rules(object.filter(listener, ["protocol", "tls", "allowedRoutes"]), type, keys.parse(object_key).namespace, namespace)

# Most listeners of a Gateway have the same rules, so OPA evaluates these once.
_refusal_by_rules(rules, type, own, namespace) := "" if {
	_kind_allowed(rules, type)
	_namespaces_admit(object.get(rules, ["allowedRoutes", "namespaces"], {}), "Same", own, namespace)
} else := "NotAllowedByListeners"

# The route kinds of a protocol if a listener does not list kinds (Gateway API, Listener.protocol).
_types_by_protocol := {
	"HTTP": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"HTTPS": {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"},
	"TLS": {"gateway.networking.k8s.io/TLSRoute"},
	"TCP": {"gateway.networking.k8s.io/TCPRoute"},
	"UDP": {"gateway.networking.k8s.io/UDPRoute"},
}

# A listener allows routes of a type, by its protocol and its allowedRoutes (Gateway API, AllowedRoutes.kinds).
_kind_allowed(listener, type) if {
	_by_protocol(listener, type)
	object.get(listener, ["allowedRoutes", "kinds"], []) == []
} else if {
	some kind in listener.allowedRoutes.kinds
	[group, name] := split(type, "/")
	kind.kind == name
	keys.is_group(object.get(kind, "group", keys.gateway_api), group)
	fits_protocol(listener, type)
}

# A listener can take routes of a type by its protocol.
fits_protocol(listener, type) if _by_protocol(listener, type)

# For kinds of routes outside Gateway API, only their implementation knows the protocols.
fits_protocol(_, type) if not type in union({types | some types in _types_by_protocol})

_by_protocol(listener, type) if {
	type in _types_by_protocol[listener.protocol]
} else if {
	# If the listener terminates TLS, the stream inside may be of any type.
	listener.protocol == "TLS"
	object.get(listener, ["tls", "mode"], "Terminate") == "Terminate"
	type == "gateway.networking.k8s.io/TCPRoute"
} else if {
	# For an implementation-specific protocol, nothing here restricts the routes.
	not _types_by_protocol[listener.protocol]
}

# The namespaces part of a Gateway or listener (`from`, `selector`) allows an object of a namespace. `own` is the
# namespace of the Gateway or ListenerSet, `default_from` the default of `from` (Gateway API, RouteNamespaces,
# ListenerNamespaces).
_namespaces_admit(allowed, default_from, own, namespace) if _admits(object.get(allowed, "from", default_from), allowed, own, namespace)

_admits("All", _, _, _)
_admits("Same", _, own, own)
_admits("Selector", allowed, _, namespace) if labels.selects(allowed.selector, lookup.namespace_labels(namespace))

parents_at("ListenerSet", listener_set) := {gateway | [gateway, ""] = gateway_link(listener_set)}
refused_above("ListenerSet", listener_set) := {link | link := gateway_link(listener_set); link[1] != ""}

# The link from a ListenerSet to the Gateway that it names, `[gateway, reason]`: why the link is ignored, as the
# reason of the ListenerSet's Accepted condition (Gateway API, Gateway allowedListeners), or ParentNotFound; empty if it
# counts. Undefined for other nodes.
gateway_link(listener_set) := [gateway, reason] if {
	levels.of(listener_set) == "ListenerSet"
	gateway := index.gateway_of(lookup.get(listener_set))
	reason := _refusal_of(gateway, keys.parse(listener_set).namespace)
}

_refusal_of(gateway, namespace) := "ParentNotFound" if {
	not lookup.get(gateway)
} else := "" if {
	levels.of(gateway) == "Gateway"
	allowed := object.get(lookup.get(gateway).spec, ["allowedListeners", "namespaces"], {})
	_namespaces_admit(allowed, "None", keys.parse(gateway).namespace, namespace)
} else := "NotAllowed"

# The listeners of a Gateway or ListenerSet that are not accepted and so carry nothing, by name: `{reason, rival}`.
# These are the listeners that are in conflict (see `_own_conflicts`, `_lost`), and all listeners of a ListenerSet that
# its Gateway does not allow: of those the reason is that of the ListenerSet's Accepted condition (Gateway API,
# ListenerSetConditionReason), the rival the Gateway.
unaccepted_listeners(object_key) := {} if {
	object.get(index.facts(object_key), "distinct", true)
	shares_proxies == false
} else := {} if {
	not listeners(object_key)
} else := {listener.name: {"reason": "NotAllowed", "rival": gateway} | some listener in listeners(object_key)} if {
	[gateway, "NotAllowed"] = gateway_link(object_key)
} else := object.union_n([lost_to_merged(object_key), _own_conflicts(object_key), _lost(object_key)])

# A node is a listener that is not accepted, or a ListenerSet that its Gateway does not allow.
is_unaccepted(node) if {
	[object_key, name] := split(node, "#")
	unaccepted_listeners(object_key)[name]
} else if {
	gateway_link(node)[1] == "NotAllowed"
}

# Within a Gateway and its ListenerSets each listener must be distinct. The Gateway precedes its ListenerSets, which are
# ordered by age and name. A listener that conflicts with one of an earlier object loses, as if it did not exist.
# Listeners of one object that conflict with each other are all in conflict, because none of them may win (Gateway API,
# GatewaySpec.listeners, "Handling indistinct Listeners"; ListenerSetSpec.listeners).

# The Gateway that accepts a ListenerSet; empty if none does, and for other nodes.
taking_gateway(listener_set) := gateway if {
	[gateway, ""] = gateway_link(listener_set)
} else := ""

# Conflicts between listeners of one object, by name: `{reason, rival}`, the reason of the listener's Conflicted
# condition (Gateway API, ListenerConditionReason), and the object of the other listener.
_own_conflicts(object_key) := {name: {"reason": reason, "rival": object_key} |
	some port, slots in index.facts(object_key).claims
	some slot, listeners in slots
	some name, protocol in listeners
	reason := _own_conflict(object_key, port, slots, slot, object.remove(listeners, [name]), protocol)
}

_own_conflict(object_key, port, slots, slot, others, protocol) := "ProtocolConflict" if {
	index.is_stream(slot)
	slots.TCP
	count([1 | some other, _ in slots; index.is_stream(other)]) > 1
	_is_first(object_key, port)
} else := _slot_conflict(slot, others, protocol) if {
	count(others) > 0
}

# If the TCP listener of a ListenerSet loses, its other listeners may use the port.
_is_first(object_key, _) if taking_gateway(object_key) == ""
_is_first(object_key, port) if _first_in(taking_gateway(object_key), port, _streams(taking_gateway(object_key), port)) == object_key

# The conflict of two listeners in one slot of a port.
_slot_conflict(slot, others, protocol) := "HostnameConflict" if {
	not slot in {"TCP", "UDP"}
	protocol in {other | some other in others}
} else := "ProtocolConflict"

# The listeners of a ListenerSet that lose to earlier objects of its Gateway.
_lost(listener_set) := {name: {"reason": reason, "rival": rival} |
	gateway := taking_gateway(listener_set)
	some port, slots in index.facts(listener_set).claims
	some slot, listeners in slots
	[rival, others] := _earlier(gateway, port, slot, listener_set)
	some name, protocol in listeners
	reason := _slot_conflict(slot, others, protocol)
}

# The object that precedes a ListenerSet at a slot, with its listeners in that slot.
_earlier(gateway, port, slot, listener_set) := [first, {}] if {
	index.is_stream(slot)
	tcp_claimed(gateway, port)
	first := _first_in(gateway, port, _streams(gateway, port))
	first != listener_set
	_excludes(first, port, slot)
} else := [first, index.facts(first).claims[port][slot]] if {
	first := _first_in(gateway, port, {slot})
	first != listener_set
}

# A TCP listener cannot share its port with another TCP listener, or with HTTP, HTTPS or TLS.
_excludes(_, _, "TCP")
_excludes(first, port, _) if index.facts(first).claims[port].TCP

# A port has a TCP listener. Only there the order of objects on the port matters.
tcp_claimed(gateway, port) if {
	index.facts(gateway).claims[port].TCP
} else if {
	count(index.claimants(gateway, port, "TCP")) > 0
} else := false

_streams(gateway, port) := {slot |
	some slot in (object.keys(object.get(index.facts(gateway).claims, port, {})) | index.claimed_slots(gateway, port))
	index.is_stream(slot)
}

# The first object that claims one of the slots of a port. ListenerSets that their Gateway does not accept are ignored.
_first_in(gateway, port, slots) := gateway if {
	index.facts(gateway).claims[port][slots[_]]
} else := sort({[lookup.age(key), keys.alphabetical(key), key] |
	some slot in slots
	some key in index.claimants(gateway, port, slot)
	taking_gateway(key) != ""
})[0][2]

# The HTTP listeners that share a port with a listener (`section`), or with those of a whole ListenerSet. Of a
# connection without TLS a gateway knows only the port before the first request, so such listeners share what acts on
# connections. ListenerSets are part of a whole Gateway; other Gateways may have the same proxies. Listeners that are not
# accepted share nothing.
listeners_sharing_ports(object_key, section) := {other |
	named := {listener | some listener in _http_listeners(object_key); section in {"", split(listener[1], "#")[1]}}
	some [port, _] in named
	some holder in (_holders_beside(object_key, section, port) | _holders_of_others(object_key, port))
	some listener in (_http_listeners(holder) - named)
	[port, other] = listener
}

_holders_beside(object_key, section, port) := set() if {
	levels.of(object_key) == "Gateway"
	section == ""
} else := holders_of_port(object_key, port)

_holders_of_others(object_key, port) := {holder |
	some gateway in merged_with(gateway_of_listeners(object_key))
	some holder in holders_at(gateway, port)
}

# The accepted listeners of an object without TLS, `[port, node]`.
_http_listeners(object_key) := {[port, keys.section(object_key, name)] |
	some port, slots in index.facts(object_key).claims
	some slot, listeners_there in slots
	startswith(slot, "HTTP/")
	some name, _ in listeners_there
	not unaccepted_listeners(object_key)[name]
}

# The objects beside which a Gateway or ListenerSet has its listeners, and the object itself.
holders_of_port(object_key, port) := {object_key, gateway} | {listener_set |
	some slot in index.claimed_slots(gateway, port)
	some listener_set in index.claimants(gateway, port, slot)
} if {
	gateway := gateway_of_listeners(object_key)
} else := {object_key}

# The Gateway whose proxies have the listeners of an object: a Gateway itself, or the one that accepts a ListenerSet.
gateway_of_listeners(object_key) := object_key if {
	levels.of(object_key) == "Gateway"
} else := gateway if [gateway, ""] = gateway_link(object_key)

# A route with these hostnames (lower case; none: all) and a listener with this one (empty: all) have a common name.
# `*.` matches one or more labels on the left (Gateway API, Hostname).
hostnames_meet([], _)
hostnames_meet(_, "")

hostnames_meet(hostnames, hostname) if {
	strings.any_suffix_match(hostnames, trim_prefix(hostname, "*"))
	_is_wildcard_or_in(hostname, hostnames)
}

hostnames_meet(hostnames, hostname) if {
	strings.any_prefix_match(hostnames, "*.")
	some own in hostnames
	is_below_wildcard(hostname, own)
}

_is_wildcard_or_in(hostname, _) if startswith(hostname, "*.")
_is_wildcard_or_in(hostname, hostnames) if hostname in hostnames

# A hostname is one that a hostname with a wildcard stands for.
is_below_wildcard(hostname, wildcard) if {
	startswith(wildcard, "*.")
	endswith(hostname, substring(wildcard, 1, -1))
}
