"""Destinations of views besides the bridge's own address: object storage, and registries of OCI artifacts."""
