"""The only room that talks to a Kubernetes API server: client, discovery, list and watch, patches, Lease, errors."""
