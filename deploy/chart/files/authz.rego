# METADATA
# scope: package
# title: Authorization of requests to OPA
# description: |
#   OPA evaluates this policy before every response if it runs with `--authentication=token --authorization=basic`. OPA
#   loads it as a file, so it applies from the start; the tokens come from the bridge as a separate bundle, as SHA-256
#   sums. Until OPA has them, it denies requests.
#
#   Only tokens count: OPA does not provide the address at which a request arrived.
# related_resources:
#   - https://www.openpolicyagent.org/docs/security#authentication-and-authorization
package system.authz

# METADATA
# description: The decision, with a reason for a denial (OPA returns it with 401).
# entrypoint: true
default allow := {"allowed": false}

allow := {"allowed": true} if _allowed
allow := {"allowed": false, "reason": _reason} if not _allowed

_reason := "send a token: Authorization: Bearer TOKEN" if {
	not input.identity
} else := "the bridge has not provided tokens yet" if {
	not data.system.policy_bridge.tokens
} else := "this token may only GET or POST /v1/data/bridge/v1/QUERY" if {
	_role == "reader"
} else := "unknown token"

# Kubelets, which have no token, check OPA's health.
_allowed if {
	input.method == "GET"
	input.path == ["health"]
}

_allowed if _role == "bridge"

_allowed if {
	_role == "reader"
	input.method in {"GET", "POST"}
	array.slice(input.path, 0, 4) == ["v1", "data", "bridge", "v1"]
	regex.match(`^[a-z][a-z_]*$`, input.path[4]) # one query: not the whole package, nor its private rules
	every name, _ in object.get(input, "params", {}) {
		name in _params
	}
}

# Not `explain`: a trace shows the data that a query has read.
_params := {"input", "instrument", "metrics", "pretty", "provenance", "strict-builtin-errors"}

_role := data.system.policy_bridge.tokens[crypto.sha256(input.identity)]
