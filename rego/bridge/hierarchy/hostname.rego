package bridge.hierarchy

# METADATA
# description: |
#   A route with these hostnames (lower case; none: all) and a listener with this one (empty: all) have a common name.
hostnames_meet(hostnames, hostname) if {
	hostname == ""
} else if {
	hostnames == []
} else if {
	some own in hostnames
	hostnames_intersect(own, hostname)
}

# METADATA
# description: |
#   Two hostnames in lower case have a common name. `*.` matches one or more labels on the left (Gateway API, Hostname).
hostnames_intersect(name, name)

hostnames_intersect(left, right) if {
	startswith(left, "*.")
	endswith(right, substring(left, 1, -1))
}

hostnames_intersect(left, right) if {
	startswith(right, "*.")
	endswith(left, substring(right, 1, -1))
}
