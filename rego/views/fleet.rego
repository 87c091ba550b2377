# METADATA
# description: |
#   Queries of an OPA that has the data of several clusters, each below `data.clusters[name]`: the queries of
#   `data.bridge.v1` by their names, and for each cluster its answer: `data.bridge.fleet.v1.effective.east`.
package bridge.fleet

# METADATA
# description: The clusters whose data are there.
# entrypoint: true
clusters contains name if some name, _ in data.clusters

# METADATA
# description: The answers of a query, by cluster.
# entrypoint: true
v1[query][cluster] := answer if {
	some cluster, _ in data.clusters
	answer := data.bridge.v1[query] with data.objects as data.clusters[cluster].objects
		with data.facts as data.clusters[cluster].facts
		with data.index as data.clusters[cluster].index
		with data.kinds as data.clusters[cluster].kinds
		with data.kind_sets as data.clusters[cluster].kind_sets
}
