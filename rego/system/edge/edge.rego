# METADATA
# scope: package
# title: Authorization of requests to an edge
# description: |
#   Every view has this policy. An OPA that runs with `--authorization=basic` and the configuration of an edge evaluates
#   it before every response. Clients may ask the queries, and kubelets may check its health; no client may read or write
#   other data, modules or the configuration, or evaluate Rego. Until the OPA has its first view, it answers every
#   request with 500.
# related_resources:
#   - https://www.openpolicyagent.org/docs/security#authentication-and-authorization
package system.edge

# METADATA
# description: The decision, with a reason for a denial (OPA returns it with 401).
# entrypoint: true
default allow := {
	"allowed": false,
	"reason": "an edge answers GET and POST of /v1/data/bridge/…, and GET of /v1/data/bridge_view and /health",
}

allow := {"allowed": true} if _allowed

_allowed if {
	input.method == "GET"
	input.path in {["health"], ["v1", "data", "bridge_view"]}
}

_allowed if {
	input.method in {"GET", "POST"}
	array.slice(input.path, 0, 3) == ["v1", "data", "bridge"]
	count(input.path) > 3
	every name in array.slice(input.path, 3, count(input.path)) {
		not name in {"", ".", ".."}
	}
	every name, _ in object.get(input, "params", {}) {
		name in _params
	}
}

# Not `explain`: a trace shows the data that a query has read.
_params := {"input", "instrument", "metrics", "pretty", "provenance", "strict-builtin-errors"}
