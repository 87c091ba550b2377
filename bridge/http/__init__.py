"""Listeners of the bridge: connections, guards of requests, tokens, the bundles for OPA."""
