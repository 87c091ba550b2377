"""From a source's changes to OPA: an object and its links are in one write."""
