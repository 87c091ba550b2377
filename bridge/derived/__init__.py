"""What is derived from OPA: one loop keeps it up to date, at the cost of each change."""
