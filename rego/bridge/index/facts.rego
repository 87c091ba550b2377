package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The facts of a Gateway, ListenerSet or route: they depend on that object only, in the form that queries need. The
# replicator stores them in `data.facts`; for objects in `changes` the query computes them.
facts(object_key) := stored if {
	stored := lookup.stored_facts(object_key)
	stored.by == stamp
} else := facts_at(levels.by_type[type].section, type, lookup.get(object_key)) if type := keys.type_of(object_key)

# The other input of facts besides the object: the levels from extension modules. Facts count while their `by` equals
# it.
stamp := "" if {
	levels.extensions == {}
} else := crypto.md5(json.marshal(levels.extensions))

# The facts of an object, by the level of its sections; undefined for an object without listeners or rules. The facts of
# a route: `type`, `namespace`, `sections` (the names of its rules), `parents` (the Gateways and ListenerSets that its
# parentRefs name, `{object, section, port}`; `default_gateways_key` represents default Gateways), `frontends` (those
# that they name, `{node, section, port}`, if there are any), and `hostnames` in lower case.
facts_at("Rule", type, route) := object.union_n([
	_parent_facts(type, namespace, object.get(route.spec, "parentRefs", []), object.get(route.spec, "useDefaultGateways", "None")),
	{
		"hostnames": [lower(hostname) | some hostname in route.spec.hostnames],
		"sections": _rule_names([object.get(route.spec, ["rules", place, "name"], "") | some place, _ in route.spec.rules]),
	},
]) if namespace := keys.namespace_name(object.get(route.metadata, "namespace", ""))

# Many routes of a namespace have the same parents.
_parent_facts(type, namespace, refs, scope) := object.union(
	{
		"by": stamp,
		"type": type,
		"namespace": namespace,
		"parents": array.concat(
			[{"object": key, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0)} |
				some ref in refs
				key := parent_key(ref, namespace)
				levels.of_type(keys.type_of(key)) != "Backend"
			],
			[{"object": key, "section": "", "port": 0} | some key in default_keys(scope)],
		),
	},
	{"frontends": nodes |
		nodes := [{"node": node, "section": object.get(ref, "sectionName", ""), "port": object.get(ref, "port", 0)} |
			some ref in refs
			node := parent_node(ref, namespace)
			keys.is_frontend(node)
		]
		nodes != []
	},
)

# The facts of a Gateway or ListenerSet: `listeners`, their hostnames in lower case, `sections` (their names), `claims`
# (see `_claims_of`), `distinct` (it is a Gateway whose listeners are distinct), `type` and `class` (the key of the
# GatewayClass). Listeners from which another one may take hostnames have `contested` (see `_apart`).
facts_at("Listener", type, obj) := {
	"listeners": [object.union(listener, {"contested": true | not listener.name in apart}) | some listener in named],
	"sections": [listener.name | some listener in named],
	"claims": _claims_of(named),
	"distinct": _are_distinct(type, _claims_of(named)),
	"by": stamp,
	"type": type,
	"class": [keys.named(keys.gateway_api, "GatewayClass", "", obj.spec.gatewayClassName) | levels.of_type(type) == "Gateway"],
} if {
	named := named_listeners([object.union(listener, {"hostname": hostname | hostname := lower(listener.hostname)}) |
		some listener in obj.spec.listeners
	])
	apart := _apart(type, _claims_of(named))
}

# The listeners of a Gateway are compared with each other only, those of a ListenerSet also with earlier objects.
_are_distinct(type, claims) if {
	levels.of_type(type) == "Gateway"
	every slots in claims {
		every listeners in slots {
			count(listeners) == 1
		}
		count([1 | slots.TCP; some slot, _ in slots; is_stream(slot)]) < 2
	}
} else := false

# The names of a Gateway's listeners from which no other listener of the Gateway can take hostnames: no claim on their port
# is within theirs. From those of a ListenerSet listeners of other objects can.
_apart(type, claims) := {name |
	levels.of_type(type) == "Gateway"
	some slots in claims
	some slot, listeners in slots
	not strings.any_suffix_match(object.keys(slots) - {slot}, regex.replace(slot, `^[^/]*/?\*?`, ""))
	some name, _ in listeners
}

# The name of a part of an object if it can be a section name, otherwise the fallback.
section_name(part, fallback) := part.name if {
	regex.match(`^[^#@/\[\]]+$`, part.name)
} else := fallback

# The listeners of a spec that have a section name; of two with the same name the first (the API rejects such an
# object).
named_listeners(listeners) := listeners_with_names if {
	listeners_with_names := [listener | some listener in listeners; section_name(listener, "") == listener.name]
	count({listener.name | some listener in listeners_with_names}) == count(listeners_with_names)
} else := [listener |
	some place, listener in listeners
	section_name(listener, "") == listener.name
	not listener.name in {earlier.name | some earlier in array.slice(listeners, 0, place)}
]

# The section names of rules with these names, in their order, each its name or, without a name, its place as `[n]`
# (semantics K3). If two rules have the same name, which the API rejects, the second has none. Most routes name no rule,
# so many share their section names.
_rule_names(names) := [name |
	proposed := [section_name({"name": own}, sprintf("[%d]", [place])) | some place, own in names]
	some place, own in proposed
	name := _distinct_name(own, place, array.slice(proposed, 0, place))
]

_distinct_name(own, place, former) := sprintf("[%d]", [place]) if own in former
_distinct_name(own, _, former) := own if not own in former

# The part of a port that a listener claims, `[port, slot]`: two listeners with equal claims are not distinct (Gateway
# API, GatewaySpec.listeners, "Distinct Listeners"). HTTPS and TLS share their slots, because both select a listener by
# the server name. `bridge.hierarchy.unaccepted_listeners` evaluates the claims.
_claim(listener) := [sprintf("%v", [object.get(listener, "port", 0)]), _slot(object.get(listener, "protocol", ""), _claimed_hostname(listener))]

_slot(protocol, hostname) := concat("/", ["TLS", hostname]) if {
	protocol in {"HTTPS", "TLS"}
} else := protocol if {
	protocol in {"TCP", "UDP"}
} else := concat("/", [protocol, hostname])

_claimed_hostname(listener) := lower(listener.hostname) if {
	is_string(listener.hostname)
} else := ""

# The claims of listeners by port and slot, with the protocol of each listener by its name.
_claims_of(listeners) := {port: slots |
	some [port, _] in {_claim(listener) | some listener in listeners}
	slots := {slot: claimants |
		some [at, slot] in {_claim(listener) | some listener in listeners}
		at == port
		claimants := {listener.name: object.get(listener, "protocol", "") | some listener in listeners; _claim(listener) == [port, slot]}
	}
}

# A slot is one of those that a TCP listener excludes.
is_stream(slot) if {
	slot == "TCP"
} else if {
	strings.any_prefix_match(slot, ["HTTP/", "TLS/"])
} else := false
