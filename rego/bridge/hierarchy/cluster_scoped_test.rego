package bridge.hierarchy_test

import data.bridge.hierarchy

test_a_kind_is_cluster_scoped_by_nature_or_by_its_crd if {
	crd := {
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition",
		"metadata": {"name": "zones.acme.io"},
		"spec": {"group": "acme.io", "names": {"kind": "Zone"}, "scope": "Cluster"},
	}
	hierarchy.cluster_scoped("core/Namespace")
	hierarchy.cluster_scoped("acme.io/Zone") with input as {"changes": {"upsert": [crd]}}
	not hierarchy.cluster_scoped("acme.io/Zone")
}
