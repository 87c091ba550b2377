"""Manifests of a Gateway of kgateway whose order of policies is not certain."""

HARBOR = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kgateway}
spec: {controllerName: kgateway.dev/kgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: quay, namespace: harbor, annotations: {kgateway.dev/inherited-policy-priority: DeepMergePreferParent}}
spec: {gatewayClassName: kgateway, listeners: [{name: web, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ferry, namespace: harbor}
spec: {parentRefs: [{name: quay}], rules: [{name: all}]}
"""
UNCERTAIN = f"""{HARBOR}---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {{name: slow, namespace: harbor}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: Gateway, name: quay}}]
  timeouts: {{request: 40s}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {{name: fast, namespace: harbor}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: ferry}}]
  timeouts: {{request: 2s}}
"""
WHY = (
    "Gateway/harbor/quay: by kgateway's documentation its annotation changes how its policies merge with those of "
    "routes, and the code of 2.4 does not read it there"
)
