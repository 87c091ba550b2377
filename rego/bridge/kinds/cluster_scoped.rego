package bridge.kinds

import data.bridge.lookup

# METADATA
# description: |
#   Types that are cluster-scoped, by their definition or by their CRD's scope. Only cluster-scoped policies may target
#   them, except a policy's own Namespace (semantics T3).
cluster_scoped(type) if type in {"core/Namespace", "gateway.networking.k8s.io/GatewayClass"}

cluster_scoped(type) if {
	some crd in lookup.objects_in("apiextensions.k8s.io/CustomResourceDefinition", "-")
	type == concat("/", [crd.spec.group, crd.spec.names.kind])
	crd.spec.scope == "Cluster"
}
