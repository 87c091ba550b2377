package bridge.request

# METADATA
# description: |
#   The hostnames that cover a host, the most specific first: itself, the wildcards above it, and `*`, which stands for
#   no hostname. A wildcard covers one label or more (Gateway API, Hostname).
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
#   How specific a hostname is, the more specific the lower: by the characters of one without a wildcard, then by those of
#   any (HTTPRouteSpec.hostnames).
specificity(hostname) := [0, 0] if {
	hostname == "*"
} else := [0, 0 - count(hostname)] if {
	startswith(hostname, "*.")
} else := [0 - count(hostname), 0 - count(hostname)]

# METADATA
# description: |
#   The hostname that a listener and a route have in common, of two that both cover one host: the more specific one.
common_hostname(one, other) := one if {
	specificity(one) <= specificity(other)
} else := other
