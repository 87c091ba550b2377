"""The audit: violations of Constraints, written into their statuses."""
