# METADATA
# scope: package
# title: Who may ask this OPA for what
# description: |
#   OPA asks this before it answers anything, when it runs with `--authentication=token --authorization=basic`. It is
#   given to OPA as a file, so that it is in force from the first moment; the tokens come from the bridge as a bundle of
#   their own, as SHA-256 sums. Until then, and when it is in doubt, the answer is no.
#
#   A token is all that counts: OPA does not tell this policy by which of its addresses a request has come.
# related_resources:
#   - https://www.openpolicyagent.org/docs/security#authentication-and-authorization
package system.authz

# METADATA
# description: The decision, with a reason where it is no (OPA answers 401 with it).
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

# Whether OPA is there is for kubelets, which have no token.
_allowed if {
	input.method == "GET"
	input.path == ["health"]
}

_allowed if _role == "bridge"

_allowed if {
	_role == "reader"
	input.method in {"GET", "POST"}
	array.slice(input.path, 0, 4) == ["v1", "data", "bridge", "v1"]
	regex.match(`^[a-z][a-z_]*$`, input.path[4]) # one query: not the whole package, nor what is private to it
	every name, _ in object.get(input, "params", {}) {
		name in _params
	}
}

# Not `explain`: a trace shows what a query has read.
_params := {"input", "instrument", "metrics", "pretty", "provenance", "strict-builtin-errors"}

_role := data.system.policy_bridge.tokens[crypto.sha256(input.identity)]
