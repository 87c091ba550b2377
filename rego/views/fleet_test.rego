package bridge.fleet_test

import data.bridge.fleet

_clusters := {cluster: {
	"objects": {"core": {"Service": {"shop": {cluster: {
		"apiVersion": "v1",
		"kind": "Service",
		"metadata": {"name": cluster, "namespace": "shop"},
	}}}}},
	"facts": {},
	"index": {},
	"kinds": {},
	"kind_sets": {},
} |
	some cluster in ["east", "west"]
}

_services := {"types": ["core/Service"]}

test_each_cluster_answers_from_its_own_data if {
	found := fleet.v1.names with data.clusters as _clusters with input as _services
	found == {"east": ["core/Service/shop/east"], "west": ["core/Service/shop/west"]}
}

test_clusters_are_listed if {
	fleet.clusters == {"east", "west"} with data.clusters as _clusters
}

test_unknown_cluster_has_no_answer if {
	not fleet.v1.names.north with data.clusters as _clusters with input as _services
}
