package bridge.hierarchy

# METADATA
# description: |
#   Two hostnames have a name in common. `*.` stands for one or more labels on the left (Gateway API, Hostname);
#   case does not matter.
hostnames_intersect(left, right) if lower(left) == lower(right)

hostnames_intersect(left, right) if _covers(lower(left), lower(right))

hostnames_intersect(left, right) if _covers(lower(right), lower(left))

_covers(wildcard, hostname) if {
	startswith(wildcard, "*.")
	endswith(hostname, substring(wildcard, 1, -1))
}
