package bridge.kinds_test

import data.bridge.kinds

test_a_kind_is_cluster_scoped_by_nature_or_by_its_crd if {
	crd := {
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition",
		"metadata": {"name": "zones.acme.io"},
		"spec": {"group": "acme.io", "names": {"kind": "Zone"}, "scope": "Cluster"},
	}
	kinds.cluster_scoped("core/Namespace")
	kinds.cluster_scoped("acme.io/Zone") with input as {"changes": {"upsert": [crd]}}
	not kinds.cluster_scoped("acme.io/Zone")
}
