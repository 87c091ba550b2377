"""From changed objects to patched statuses, at the cost of the change."""
