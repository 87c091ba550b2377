package bridge.hierarchy

import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# METADATA
# description: |
#   The other routes that share a port, a hostname and a path with a route, whatever else their matches have. A data plane
#   that makes one location of these cannot have a policy for one of the routes alone.
routes_sharing_places(route_key) := {other |
	own := _places(route_key)
	some other in ({candidate |
		some gateway in {keys.whole(listener) | some listener in parents(route_key)}
		some candidate in _routes_with_paths(gateway, own)
	} - {route_key})
	own & _places(other) != set()
}

# The routes at a Gateway or ListenerSet that the index has at one of these paths.
_routes_with_paths(gateway, places) := {route |
	paths := {indexed | some [_, _, path] in places; some indexed in {index.without_last_slash(path), concat("/", array.slice(split(path, "/"), 0, 2)), "*"}}
	some name in index.served_names(gateway)
	some path in paths
	some route in index.routes_serving(gateway, name, path)
}

# The places of a route, `[port, hostname, path]`.
_places(route_key) := {[found.port, hostname, path] |
	spec := lookup.get(route_key).spec
	some node in parents(route_key)
	levels.of(node) == "Listener"
	found := listener(node)
	some hostname in common_hostnames([lower(name) | some name in spec.hostnames], lower(object.get(found, "hostname", "")))
	some path in _paths_of_rules(spec.rules)
}

_paths_of_rules(rules) := {object.get(match, ["path", "value"], "/") |
	some rule in rules
	some match in array.concat(object.get(rule, "matches", []), [{} | count(object.get(rule, "matches", [])) == 0])
}
