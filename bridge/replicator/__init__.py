"""From a source's changes to OPA: an object and its links enter in one write."""
