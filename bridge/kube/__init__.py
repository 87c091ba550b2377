"""The only package that sends requests to an API server: client, discovery, list and watch, patches, Lease, errors."""
