# What a match of a route matches: its conditions, and whether it takes all requests of another one.
package bridge.lib.matches

# METADATA
# description: |
#   The conditions of a match of a route's type by a precedence of matches, `{part, name, type, expected, at}`, `at` is the
#   place of the compared value in the request. Other routes have none: a TLSRoute is selected by its hostname, TCPRoute and
#   UDPRoute by their listener.
default conditions_of(_, _, _) := []

conditions_of(_, "gateway.networking.k8s.io/HTTPRoute", match) := array.flatten([
	{
		"part": "path",
		"name": "path",
		"type": object.get(match, ["path", "type"], "PathPrefix"),
		"expected": object.get(match, ["path", "value"], "/"),
		"at": ["path"],
	},
	[{"part": "method", "name": "method", "type": "Exact", "expected": match.method, "at": ["method"]} | match.method],
	_value_conditions("header", "headers", object.get(match, "headers", [])),
	_value_conditions("query parameter", "query", object.get(match, "queryParams", [])),
])

conditions_of(precedence, "gateway.networking.k8s.io/GRPCRoute", match) := array.concat(
	_call_conditions(precedence, object.get(match, "method", {})),
	_value_conditions("header", "headers", object.get(match, "headers", [])),
)

_call_conditions(precedence, method) := [{"part": "path", "name": part, "type": object.get(method, "type", "Exact"), "expected": expected, "at": at} |
	some part, at in {"service": ["service"], "method": ["rpc"]}
	expected := method[part]
	expected != ""
] if {
	precedence != "Envoy Gateway"
} else := [{"part": "path", "name": "path", "type": type, "expected": expected, "at": _place_of_path(type)} |
	parts := {part: text | some part in ["service", "method"]; text := method[part]; text != ""}
	[type, expected] := _translated_call(parts, object.get(method, "type", "Exact"))
]

# Envoy compares the end of a path with its query.
_place_of_path("Suffix") := ["pathAndQuery"]
_place_of_path(type) := ["path"] if type != "Suffix"

# If several have one name, the first one is compared (HTTPHeaderMatch, HTTPQueryParamMatch).
_value_conditions(part, field, list) := [condition |
	some index, one in list
	name := _name_of(part, one)
	not name in {_name_of(part, earlier) | some earlier in array.slice(list, 0, index)}
	condition := {
		"part": part,
		"name": sprintf("%s %s", [part, name]),
		"type": object.get(one, "type", "Exact"),
		"expected": one.value,
		"at": [field, name],
	}
]

# Names of headers are not case-sensitive.
_name_of("header", one) := lower(one.name)
_name_of("query parameter", one) := one.name

# A gRPC method as Envoy Gateway translates it, `[type, text]`: a method without a service is the end of a path. Undefined
# for any call.
_translated_call(parts, type) := ["Suffix", concat("", ["/", parts.method])] if {
	type == "Exact"
	not parts.service
} else := ["PathPrefix", concat("", ["/", parts.service])] if {
	type == "Exact"
	not parts.method
} else := [type, concat("/", ["", service, method])] if {
	parts != {}
	service := object.get(parts, "service", `(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*`)
	method := object.get(parts, "method", `[A-Za-z_][A-Za-z_0-9]*`)
}

# METADATA
# description: |
#   A match of a route's type takes all requests that another one takes: each of its conditions follows from one of the other's.
#   A regular expression follows from itself alone.
takes_all(type, outer, inner) if {
	given := conditions_of("Gateway API", type, inner)
	every wanted in conditions_of("Gateway API", type, outer) {
		_follows(wanted, given)
	}
}

_follows(wanted, _) if {
	wanted.type == "PathPrefix"
	_as_folder(wanted.expected) == "/"
}

_follows(wanted, given) if {
	some one in given
	[one.at, one.type] == [wanted.at, wanted.type]
	one.expected == wanted.expected
}

_follows(wanted, given) if {
	wanted.type == "PathPrefix"
	some one in given
	one.at == wanted.at
	one.type in {"Exact", "PathPrefix"}
	startswith(_as_folder(one.expected), _as_folder(wanted.expected))
}

# A prefix matches whole elements of a path, and a slash at its end is ignored (HTTPPathMatch).
_as_folder(path) := concat("", [trim_right(path, "/"), "/"])
