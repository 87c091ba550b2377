# METADATA
# title: Fixtures
# description: A small world that tests share, as a change (`input`) or as stored (`data`). Objects are data, made by functions.
package bridge.testing

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys

gateway_api := "gateway.networking.k8s.io/v1"

gateway_group := "gateway.networking.k8s.io"

listener_http := "gateway.networking.k8s.io/Gateway/infra/public#http"

cart_route := "gateway.networking.k8s.io/HTTPRoute/shop/cart"

cart_pay := "gateway.networking.k8s.io/HTTPRoute/shop/cart#pay"

# The path from the class to the first rule of the route.
cart_pay_path := [
	"gateway.networking.k8s.io/GatewayClass/-/example",
	"gateway.networking.k8s.io/Gateway/infra/public",
	listener_http,
	cart_route,
	cart_pay,
]

resource(api_version, kind, namespace, name) := {
	"apiVersion": api_version,
	"kind": kind,
	"metadata": object.union({"name": name}, {"namespace": namespace | namespace != ""}),
}

with_spec(obj, spec) := object.union(obj, {"spec": spec})

created(obj, minute) := object.union(obj, {"metadata": {"creationTimestamp": sprintf("2026-01-01T00:%02d:00Z", [minute])}})

gateway(name, listeners) := with_spec(
	resource(gateway_api, "Gateway", "infra", name),
	{"gatewayClassName": "example", "listeners": listeners},
)

listener(name, port) := {
	"name": name,
	"port": port,
	"protocol": "HTTP",
	"allowedRoutes": {"namespaces": {"from": "All"}},
}

route(name, parent_refs, rules) := with_spec(
	resource(gateway_api, "HTTPRoute", "shop", name),
	{"parentRefs": parent_refs, "rules": rules},
)

with_hostnames(route, hostnames) := object.union(route, {"spec": {"hostnames": hostnames}})

service(name, ports) := with_spec(resource("v1", "Service", "shop", name), {"ports": ports})

grant(namespace, from_group, from_kind, from_namespace, to_group, to_kind) := with_spec(
	resource("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", namespace, "grant"),
	{
		"from": [{"group": from_group, "kind": from_kind, "namespace": from_namespace}],
		"to": [{"group": to_group, "kind": to_kind}],
	},
)

policykind(spec) := with_spec(resource("policybridge.io/v1alpha1", "PolicyKind", "", lower(spec.kind)), spec)

ref(kind, name) := {"group": gateway_group, "kind": kind, "name": name}

section_ref(kind, name, section) := {"group": gateway_group, "kind": kind, "name": name, "sectionName": section}

far_ref(kind, namespace, name) := {"group": gateway_group, "kind": kind, "namespace": namespace, "name": name}

service_ref(name) := {"group": "", "kind": "Service", "name": name}

# A ColorPolicy of a namespace, created in that minute, with its refs and the rest of its spec.
color(namespace, name, minute, refs, spec) := created(
	with_spec(resource("example.com/v1", "ColorPolicy", namespace, name), object.union({"targetRefs": refs}, spec)),
	minute,
)

timeout(name, minute, refs, spec) := created(
	with_spec(resource("example.com/v1", "TimeoutPolicy", "shop", name), object.union({"targetRefs": refs}, spec)),
	minute,
)

color_kind := {
	"group": "example.com",
	"kind": "ColorPolicy",
	"mode": "Manage",
	"controllerName": "example.com/color-controller",
	"class": "Inherited",
	"targets": [
		{"group": gateway_group, "kind": "GatewayClass"},
		{"group": gateway_group, "kind": "Gateway", "sections": true},
		{"group": gateway_group, "kind": "HTTPRoute", "sections": true},
	],
	"effectiveTarget": "Rule",
	"crossNamespace": "ReferenceGrant",
	"exclusiveWrappers": true,
	"specPaths": [
		{"path": "/spec/overrides", "strategy": "AtomicOverrides", "strategyPath": "/spec/overrides/strategy"},
		{"path": "/spec/defaults", "strategy": "AtomicDefaults", "strategyPath": "/spec/defaults/strategy"},
		{"path": "/spec", "strategyPath": "/spec/strategy", "without": ["strategy"]},
	],
	"strategies": {"atomic": "Atomic", "patch": "Patch"},
}

timeout_kind := {
	"group": "example.com",
	"kind": "TimeoutPolicy",
	"mode": "Manage",
	"controllerName": "example.com/timeout-controller",
	"class": "Direct",
	"targets": [{"group": "", "kind": "Service", "sections": true}],
	"statusShape": "Ancestors",
	"ancestorLevel": "Target",
}

world := [
	resource("v1", "Namespace", "", "infra"),
	resource("v1", "Namespace", "", "shop"),
	resource(gateway_api, "GatewayClass", "", "example"),
	gateway("public", [listener("http", 80), listener("alt", 8080)]),
	route(
		"cart",
		[{"name": "public", "namespace": "infra", "sectionName": "http"}],
		[
			{"name": "pay", "backendRefs": [{"name": "cart", "port": 80}]},
			{"backendRefs": [{"name": "cart", "port": 9090}]},
		],
	),
	service("cart", [{"name": "http", "port": 80}, {"name": "admin", "port": 9090}]),
	policykind(color_kind),
	policykind(timeout_kind),
]

# The world and these objects, as a change of an empty OPA.
changed(objects) := {"changes": {"upsert": array.concat(world, objects)}}

# The same as they are stored: `data.objects`, and `data.index` as the replicator makes it of their links.
stored(objects) := object.union_n([{group: {kind: {namespace: {name: obj}}}} |
	some obj in objects
	[group, kind, namespace, name] := split(keys.of(obj), "/")
])

stored_index(objects) := object.union_n([stored_entries(keys.of(obj), index.entries(obj)) | some obj in objects])

# The entries that one object declares, as they are stored.
stored_entries(declarer, entries) := object.union_n([_nested(_place(entry.path, declarer), entry.value) | some entry in entries])

# As docs/appendix/documents.md has it.
_place([part, declarer], declarer) := ["own", part, keys.home(declarer), declarer] if part in {"children", "parents"}

_place([part, key], declarer) := [part, keys.home(key), key, keys.home(declarer), declarer] if {
	part in {"children", "parents"}
	key != declarer
}

_place(path, declarer) := array.concat([path[0], path[1], keys.home(declarer)], array.concat(array.slice(path, 2, 4), [declarer])) if {
	path[0] in {"referrers", "served"}
}

_place(path, declarer) := array.concat(path, [declarer]) if {
	not path[0] in {"children", "parents", "referrers", "served"}
}

_nested([first, second, third], value) := {first: {second: {third: value}}}

_nested([first, second, third, fourth], value) := {first: {second: {third: {fourth: value}}}}

_nested([first, second, third, fourth, fifth], value) := {first: {second: {third: {fourth: {fifth: value}}}}}

_nested([first, second, third, fourth, fifth, sixth], value) := {first: {second: {third: {fourth: {fifth: {sixth: value}}}}}}

# A policy kind as in `data.kinds`.
active_kind(type, spec) := object.union(normal, {"by": crypto.md5(json.marshal(normal)), "traits": kinds.traits_of(normal)}) if {
	normal := kinds.normal_form(type, spec)
}

# The parts of a proxy's configuration as `proxy_facts` takes them.
parts_by_type(parts) := {type: [part | some part in parts; part.type == type] | some type in {part.type | some part in parts}}

# A fact together with what it shares with others.
with_about(fact) := object.union_n([
	object.remove(fact, ["about"]),
	about,
	{name: array.concat(fact[name], about[name]) | some name in ["unknown", "refers"]; fact[name]; about[name]},
	{"names": object.union(about.names, fact.names) | about.names; fact.names},
]) if {
	about := fact.about
} else := fact
