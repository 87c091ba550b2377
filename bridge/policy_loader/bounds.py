"""The memory of a check of admins' Rego, in bytes. The settings name it, and start without what checks need."""

MEBIBYTE = 1 << 20
DEFAULT_MEMORY = 640 * MEBIBYTE
LEAST_MEMORY = 448 * MEBIBYTE  # of `opa` with the bridge's own modules: 376 MiB do not always suffice on one core
