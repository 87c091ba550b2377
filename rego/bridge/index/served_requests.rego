package bridge.index

# For a route with more paths, the index has the first segments.
_path_bound := 16

# Each path is an entry for each hostname at each parent. A route with more entries is found by hostname only, so its
# author cannot make OPA write for seconds.
_entry_bound := 512

# METADATA
# description: |
#   The request fields by which a route is found, `{hostnames, paths}`: at each of its parents, for each hostname (`*`:
#   any), by the paths that it matches or their prefixes (`/`: any, `*`: unknown). A gRPC method is the path
#   `/<service>/<method>`. Only routes at a request's path or its prefixes can serve it.
served_requests(type, spec) := {
	"hostnames": names,
	"paths": _paths_served(type, [object.get(rule, "matches", []) | some rule in spec.rules], most),
} if {
	names := _names_served(object.get(spec, "hostnames", []))
	most := _most_paths(count(names), count(object.get(spec, "parentRefs", [])))
}

# Many routes have equal numbers of hostnames and parents.
_most_paths(hostnames, parents) := min([_path_bound, floor(_entry_bound / (hostnames * max([parents, 1])))])

_names_served(hostnames) := {lower(name) | some name in hostnames} if {
	count(hostnames) > 0
} else := {"*"}

# Many routes match the same paths.
_paths_served(type, lists, most) := _few({path | some matches in lists; some path in _paths_of(type, matches)}, most)

_paths_of(type, matches) := {_path(type, match) | some match in matches} if {
	count(matches) > 0
} else := {_path(type, {})}

_few(paths, most) := paths if {
	count(paths) <= most
} else := firsts if {
	firsts := {concat("/", array.slice(split(path, "/"), 0, 2)) | some path in paths}
	count(firsts) <= most
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
# description: A path without the slash at its end, except for the root.
without_last_slash(path) := shorter if {
	shorter := trim_right(path, "/")
	shorter != ""
} else := "/"
