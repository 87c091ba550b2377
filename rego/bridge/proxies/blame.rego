package bridge.proxies

import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.queries
import data.bridge.scopes as acting

# What explains an answer of a proxy: by its status, its flags and details (Envoy, "Response Code Details"), the fields of
# policies that do so, by policy kind. The first that matches applies.
_causes := [
	{"details": ["via_upstream"], "message": "the backend sent this response", "fields": {}},
	{"status": 404, "details": ["route_not_found"], "message": "no rule serves the request", "fields": {}},
	{"status": 500, "details": ["direct_response"], "message": _answers_itself, "fields": {}, "rejected": true},
	{"status": 429, "details": ["local_rate_limited"], "fields": {_traffic: ["/rateLimit/local"]}},
	{"status": 429, "details": ["request_rate_limited"], "fields": {_traffic: ["/rateLimit/global"]}},
	{"status": 429, "flags": ["RL"], "fields": {_traffic: ["/rateLimit"]}},
	{"status": 401, "details": ["jwt_authn_access_denied"], "fields": {_security: ["/jwt"], _authentication: [""]}},
	{"status": 403, "details": ["jwt_authn_access_denied"], "fields": {_security: ["/jwt"], _authentication: [""]}},
	{"status": 403, "details": ["rbac_access_denied"], "fields": {_security: ["/authorization"], _authorization: [""]}},
	{"details": ["ext_authz_denied", "ext_authz_error"], "fields": {_security: ["/extAuth"], _kuadrant: [""]}},
	{"flags": ["UAEX"], "fields": {_security: ["/extAuth"], _kuadrant: [""]}},
	{"status": 401, "details": ["no_credential_found_for_basic_auth", "invalid_credential_for_basic_auth"], "fields": {_security: ["/basicAuth"]}},
	{"status": 401, "details": ["api_key_auth"], "fields": {_security: ["/apiKeyAuth"]}},
	{"status": 504, "details": ["upstream_per_try_timeout"], "fields": {_traffic: ["/retry/perRetry/timeout"]}},
	{"status": 504, "flags": ["UT"], "fields": {_traffic: ["/timeout/http/requestTimeout"]}},
	{"status": 504, "details": ["max_duration_timeout"], "fields": {_traffic: ["/timeout/http/maxStreamDuration"]}},
	{"details": ["stream_idle_timeout"], "fields": {_traffic: ["/timeout/http/streamIdleTimeout"]}},
	{"status": 503, "flags": ["UO"], "fields": {_traffic: ["/circuitBreaker"]}},
	{"flags": ["FI"], "fields": {_traffic: ["/faultInjection/abort"]}},
	{"status": 413, "details": ["request_payload_too_large"], "fields": {_traffic: ["/requestBuffer"]}},
]

_answers_itself := "the proxy answers so itself, as Envoy Gateway does if it cannot use a policy or a backend of the rule: see their statuses"

_traffic := "gateway.envoyproxy.io/BackendTrafficPolicy"
_security := "gateway.envoyproxy.io/SecurityPolicy"
_authentication := "security.istio.io/RequestAuthentication"
_authorization := "security.istio.io/AuthorizationPolicy"
_kuadrant := "kuadrant.io/AuthPolicy"

# METADATA
# description: |
#   What explains each of `answers`, `{route, status, flags, details}`: `{rule, known, fields, message}`. `known` is false if
#   the rule or the cause is unknown; `fields` are `{policyKind, field, value, policies, path}`.
#   Null is for an answer without an error.
explanations := [_explained_if_error(answer) | some answer in input.answers]

_explained_if_error(answer) := null if {
	_succeeded(answer)
} else := _explained(answer)

# An answer of the backend, or one that no known cause explains. Flags that mean no error are those of clients that close
# the connection, of a delay that a policy injects, and of Envoy's cache.
_succeeded(answer) if {
	answer.status >= 100
	answer.status < 400
	{flag | some flag in split(answer.flags, ","); flag != ""} - {"DC", "DI", "RFCF", "-"} == set()
	not _denied(answer)
}

_denied(answer) if {
	not answer.details in {"", "via_upstream"}
	_cause(answer)
}

_explained(answer) := {"rule": node, "known": true, "fields": [_whole_policy(policy) | some policy in policies], "message": ""} if {
	_cause(answer).rejected
	node := _rule(answer.route)
	policies := sort({policy | some [policy, _] in refused_at(node)})
	count(policies) > 0
} else := {"rule": _rule_or_null(answer.route), "known": true, "fields": [], "message": cause.message} if {
	cause := _cause(answer)
	cause.fields == {}
} else := {"rule": null, "known": true, "fields": [_whole_policy(policy)], "message": ""} if {
	not _rule(answer.route)
	policy := _named_policy(answer)
	lookup.has_object(policy)
} else := {"rule": null, "known": false, "fields": [], "message": "no rule has the name of the proxy's route"} if {
	not _rule(answer.route)
} else := {"rule": node, "known": false, "fields": [], "message": "no known cause has this status with these flags and details"} if {
	not _cause(answer)
	node := _rule(answer.route)
} else := {"rule": node, "known": false, "fields": [], "message": message} if {
	node := _rule(answer.route)
	_fields_of(node, _cause(answer)) == []
	message := sprintf("no policy in effect at the rule sets %s: compare the proxy with `pbctl verify`", [concat(" or ", _pointers(_cause(answer)))])
} else := {"rule": node, "known": true, "fields": _denying(answer, _fields_of(node, _cause(answer))), "message": ""} if {
	node := _rule(answer.route)
}

_pointers(cause) := {trim_space(sprintf("%s %s", [split(kind, "/")[1], pointer])) | some kind, pointers in cause.fields; some pointer in pointers}

# The rule of a route, by the name that Envoy Gateway gives it. Undefined for other names, and if there is none.
_rule(name) := hierarchy.canonical_key(keys.section(keys.format(keys.gateway_api, kind, found[2], found[3]), sprintf("[%s]", [found[4]]))) if {
	[found] := regex.find_all_string_submatch_n(`^(httproute|grpcroute)/([^/]+)/([^/]+)/rule/([0-9]+)/match/`, name, 1)
	kind := {"httproute": "HTTPRoute", "grpcroute": "GRPCRoute"}[found[1]]
}

_rule_or_null(name) := _rule(name) if {
	true
} else := null

_cause(answer) := [cause | some cause in _causes; _matches(cause, answer)][0]

_matches(cause, answer) if {
	object.get(cause, "status", answer.status) in _statuses(answer)
	_has_flag(cause, answer)
	_has_detail(cause, answer)
}

# The statuses that an answer may have had: to a gRPC call, the proxy answers with 200, and the reason is in `grpc-status`
# (Envoy, "HTTP to gRPC status"). A filter or a rule may answer HTTP itself with 200, too.
_statuses(answer) := {answer.status} if {
	answer.status != 200
} else := {answer.status} if {
	startswith(answer.details, "direct_response")
	not startswith(answer.route, "grpcroute/")
} else := {answer.status} | {cause.status | some cause in _causes}

_has_flag(cause, _) if not cause.flags

_has_flag(cause, answer) if {
	some flag in cause.flags
	flag in split(answer.flags, ",")
}

_has_detail(cause, _) if not cause.details

_has_detail(cause, answer) if {
	some detail in cause.details
	startswith(answer.details, detail)
}

_fields_of(node, cause) := [object.union(
	{"policyKind": kind, "path": entry.path, "field": pointer},
	{"value": found.value, "policies": found.policies},
) |
	some kind, pointers in cause.fields
	kind in queries.policy_kinds
	acting.acts_at(kind, node)
	some entry in engine.policies_of(kind, node, "")
	not entry.error
	some pointer in pointers
	some found in engine.values_at(entry, pointer)
]

# Istio names the policy that denied a request; then only that one.
_denying(answer, fields) := [field | some field in fields; _named_policy(answer) in field.policies] if {
	_named_policy(answer)
} else := fields

_named_policy(answer) := keys.format("security.istio.io", "AuthorizationPolicy", found[1], found[2]) if {
	403 in _statuses(answer)
	[found] := regex.find_all_string_submatch_n(`^rbac_access_denied_matched_policy\[ns\[([^\]]+)\]-policy\[([^\]]+)\]-rule\[`, answer.details, 1)
}

_whole_policy(policy) := {"policyKind": keys.type_of(policy), "path": [], "field": "", "value": lookup.get(policy).spec, "policies": [policy]}
