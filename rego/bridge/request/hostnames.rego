package bridge.request

# METADATA
# description: |
#   The hostnames that cover a host, the most specific first: the host itself, the wildcards above it, and `*`, which
#   means no hostname. A wildcard covers one label or more (Gateway API, Hostname).
covering_hostnames(host) := ["*"] if {
	host == ""
} else := array.concat(array.concat([host], wildcards), ["*"]) if {
	labels := split(host, ".")
	wildcards := [concat(".", array.concat(["*"], array.slice(labels, from, count(labels)))) |
		some from in numbers.range(1, count(labels))
		from < count(labels)
	]
}

# METADATA
# description: |
#   The rank of a hostname, lower for more specific ones: by the characters of one without a wildcard, then by those of
#   any (HTTPRouteSpec.hostnames).
specificity(hostname) := [0, 0] if {
	hostname == "*"
} else := [0, 0 - count(hostname)] if {
	startswith(hostname, "*.")
} else := [0 - count(hostname), 0 - count(hostname)]

# METADATA
# description: |
#   The common hostname of a listener and a route that both cover one host: the more specific one.
common_hostname(one, other) := one if {
	specificity(one) <= specificity(other)
} else := other
