"""What operators observe: logs, metrics, probes."""
