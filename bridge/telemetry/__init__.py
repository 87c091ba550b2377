"""Observability: logs, metrics, probes."""
