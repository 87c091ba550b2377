package bridge.index

_paths_told := 16 # of a route with more, the first segments are told

# METADATA
# description: |
#   By what a route may be found from a request, as entries of the index: at each parent, for each hostname (`*`: any), by
#   the paths that it matches or that are above these (`/`: any, `*`: what no path tells). A gRPC method is the path
#   `/<service>/<method>`. A request is served by no other routes than those at the paths above its own.
served_entries(type, spec, parents) := [{"path": ["served", parent, name, path], "value": true} |
	names := _names_served(object.get(spec, "hostnames", []))
	paths_served := _few({path | some rule in spec.rules; some path in _paths_of(type, object.get(rule, "matches", []))})
	some parent in parents
	some name in names
	some path in paths_served
]

_names_served(hostnames) := {lower(name) | some name in hostnames} if {
	count(hostnames) > 0
} else := {"*"}

_paths_of(type, matches) := {_path(type, match) | some match in matches} if {
	count(matches) > 0
} else := {_path(type, {})}

_few(paths_told) := paths_told if {
	count(paths_told) <= _paths_told
} else := firsts if {
	firsts := {concat("/", array.slice(split(path, "/"), 0, 2)) | some path in paths_told}
	count(firsts) <= _paths_told
} else := {"*"}

_path("gateway.networking.k8s.io/HTTPRoute", match) := without_last_slash(object.get(match, ["path", "value"], "/")) if {
	object.get(match, ["path", "type"], "PathPrefix") != "RegularExpression"
} else := "*"

_path("gateway.networking.k8s.io/GRPCRoute", match) := without_last_slash(sprintf("/%s/%s", [match.method.service, method])) if {
	object.get(match, ["method", "type"], "Exact") == "Exact"
	match.method.service != ""
	method := object.get(match, ["method", "method"], "")
} else := "*"

_path(type, _) := "/" if {
	not type in {"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute"}
}

# METADATA
# description: A path without the slash at its end, but for the root.
without_last_slash(path) := shorter if {
	shorter := trim_right(path, "/")
	shorter != ""
} else := "/"
