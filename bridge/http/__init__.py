"""Listeners of the bridge: connections, request guards, tokens, the bundles for OPA."""
