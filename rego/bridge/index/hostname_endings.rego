package bridge.index

# METADATA
# description: |
#   A listener's hostname (lower case) as an ending: a route's hostname with a slash before it ends with it if the two
#   have a common name. A listener without a hostname has the ending ``.
hostname_ending("") := ""

hostname_ending(hostname) := trim_prefix(hostname, "*") if startswith(hostname, "*.")

hostname_ending(hostname) := concat("", ["/", hostname]) if {
	hostname != ""
	not startswith(hostname, "*.")
}

# METADATA
# description: |
#   The facts of a route's hostnames: `endings`, those of the listeners that have a common name with one of them, as far
#   as they can be listed, and `wild`, the endings of its wildcards (`` for a route of every hostname): a listener whose
#   ending ends with one of these has a common name too.
hostname_facts([hostname]) := {"endings": array.concat([concat("", ["/", name])], _endings_above(name))} if {
	name := lower(hostname)
	not startswith(name, "*.")
} else := {
	"endings": array.concat([concat("", ["/", name])], _endings_above(name)),
	"wild": [substring(name, 1, -1)],
} if {
	name := lower(hostname)
}

hostname_facts(hostnames) := {"endings": [""], "wild": [""]} if hostnames == []

hostname_facts(hostnames) := object.union(
	{"endings": array.flatten([array.concat([concat("", ["/", name])], _endings_above(name)) | some name in names])},
	{"wild": wild | wild := [substring(name, 1, -1) | some name in names; startswith(name, "*.")]; wild != []},
) if {
	count(hostnames) > 1
	names := [lower(hostname) | some hostname in hostnames]
}

# The endings of the listeners for a wildcard above a hostname, and of those for every hostname.
_endings_above(name) := _endings_of_domain(substring(name, indexof(name, "."), -1)) if {
	contains(name, ".")
} else := [""]

# Many hostnames share their domain.
_endings_of_domain(domain) := array.concat([""], [concat(".", array.concat([""], array.slice(labels, from, 100))) |
	some from, _ in labels
	from > 0
]) if {
	labels := split(domain, ".")
}
