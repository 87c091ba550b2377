# METADATA
# title: Implementations
# description: What implementations of Gateway API do with requests where they differ from the specification, as data.
package bridge.lib.implementations

# `{name, virtualHosts, precedence}`. With `virtualHosts` an implementation compares the hostnames that a route and a
# listener have in common, and the most specific one that has a route gets the request: rules of other hostnames do not
# serve it, and HTTP listeners of one port share their hostnames, so a listener without routes hides none. Only a hostname
# that another listener has as its own is that listener's. `precedence` is the order of matches (see `table.path_order`).
specification := {"name": "Gateway API", "virtualHosts": false, "precedence": "Gateway API"}

# What data planes based on Envoy do, if the implementation is not known.
envoy := {"name": "Envoy", "virtualHosts": true, "precedence": "Gateway API"}

# Listeners of one port with this protocol share virtual hosts. A TLS handshake selects a filter chain, so HTTPS listeners
# share none.
default shares_hosts(_, _) := false

shares_hosts(reading, protocol) if {
	reading.virtualHosts
	protocol in {"HTTP", "TLS"}
}

# The same of the implementations that are known, by the controllerName of their GatewayClasses. Envoy Gateway's is tested
# with a real Envoy (tests/e2e/test_against_envoy.py).
by_controller := {
	"gateway.envoyproxy.io/gatewayclass-controller": {"name": "Envoy Gateway", "virtualHosts": true, "precedence": "Envoy Gateway"},
	"istio.io/gateway-controller": _istio,
	"openshift.io/gateway-controller/v1": _istio,
}

# The objects that a GatewayClass takes its parameters from and that may say, in a field, that the Gateways of the class share
# their proxies, by its controllerName.
merging := {"gateway.envoyproxy.io/gatewayclass-controller": {
	"group": "gateway.envoyproxy.io",
	"kind": "EnvoyProxy",
	"field": ["spec", "mergeGateways"],
}}

merging_type(setting) := concat("/", [setting.group, setting.kind])

merging_types := {merging_type(setting) | some setting in merging}

# The beginnings of the keys of such objects.
merging_prefixes := {concat("/", [setting.group, setting.kind, ""]) | some setting in merging}

# A target ref of a policy as its controller reads it. The AWS Gateway API Controller reads the namespace of no ref, except
# that of AccessLogPolicies, which must be the policy's own.
ref_as_read(policy, raw) := object.remove(raw, ["namespace"]) if {
	startswith(policy.apiVersion, "application-networking.k8s.aws/")
	policy.kind != "AccessLogPolicy"
	is_object(raw)
} else := raw

_istio := {"name": "Istio", "virtualHosts": true, "precedence": "Istio"}

# Implementations whose proxies answer the requests of a rule themselves if they reject its policy, by policy kind.
refusing := {concat("/", ["gateway.envoyproxy.io", kind]): {"name": "Envoy Gateway", "controller": "gateway.envoyproxy.io/gatewayclass-controller", "status": 500} |
	some kind in ["BackendTrafficPolicy", "EnvoyExtensionPolicy", "SecurityPolicy"]
}

# Controllers of load balancers that have certificates of their own: an HTTPS listener needs no `tls`.
with_own_certificates := {
	"application-networking.k8s.aws/gateway-api-controller",
	"gateway.k8s.aws/alb",
	"gateway.k8s.aws/nlb",
}

# Annotations of Gateways that name certificates (GKE, Certificate Manager).
certificate_annotations := {"networking.gke.io/certmap"}

# The command that prints the routes that the proxies of a Gateway have, by the controllerName of its GatewayClass. `{name}`,
# `{namespace}` and `{class}` stand for those of the Gateway; Istio names its Deployment by the Gateway and its class.
proxy_commands := {
	"gateway.envoyproxy.io/gatewayclass-controller": concat(" ", [
		"egctl config envoy-proxy route -A",
		"-l gateway.envoyproxy.io/owning-gateway-name={name}",
		"-l gateway.envoyproxy.io/owning-gateway-namespace={namespace}",
	]),
	"istio.io/gateway-controller": "istioctl proxy-config routes deploy/{name}-{class} -n {namespace}",
}
