"""Configuration and access logs of proxies: read in bounded memory, compared by OPA with what is in effect."""
