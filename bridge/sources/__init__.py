"""Change streams: the cluster, and a folder of manifests."""
