package bridge.kinds

import data.bridge.lib.levels

# The functions in this file take only the policy kind's name, so OPA can cache their results. Those that are called for
# every node and path return false explicitly, because OPA does not cache undefined results.

# METADATA
# description: A policy kind's declared targets may be objects of a type (semantics T2); if it lists none, of any type.
may_target(policy_kind, _) if not get(policy_kind).targets

may_target(policy_kind, type) if _target_entry(policy_kind, type)

# METADATA
# description: A policy kind's declared targets may be sections of objects of a type.
may_target_sections(policy_kind, type) if {
	levels.has_sections(type)
	not get(policy_kind).targets
	not get(policy_kind).targetSections == false
	not frontend_role(policy_kind, type)
}

may_target_sections(policy_kind, type) if {
	levels.has_sections(type)
	_target_entry(policy_kind, type).sections
	not frontend_role(policy_kind, type)
}

# METADATA
# description: |
#   A policy kind targets objects of a type as mesh frontends, by the `role` of its target entry or, by default, because
#   it acts above backends (semantics K4). A frontend has no sections.
frontend_role(policy_kind, type) if {
	levels.of_type(type) == "Backend"
	_role(policy_kind, type) == "Frontend"
}

_role(policy_kind, type) := _target_entry(policy_kind, type).role if {
	true
} else := "Backend" if {
	get(policy_kind).effectiveTarget in {"Backend", "Port", "Target"}
} else := "Frontend"

# METADATA
# description: Policies of a kind that target another namespace count only for requests from their own (semantics P6).
is_consumer_kind(policy_kind) if {
	get(policy_kind).crossNamespace == "Consumer"
} else := false

# METADATA
# description: |
#   The protocols of the ports of a type on which policies of a kind act (`protocols` of its target entry); undefined
#   for all.
target_protocols(policy_kind, type) := _target_entry(policy_kind, type).protocols

# METADATA
# description: |
#   Policies of a kind act on whole ports of a type, so that their refs must not leave out an HTTP listener of a port (`wholePorts` of
#   its target entry).
acts_on_whole_ports(policy_kind, type) if {
	_target_entry(policy_kind, type).wholePorts
} else := false

# METADATA
# description: Whether a ref of a kind's policies to an object of a type counts depends on ports.
depends_on_ports(policy_kind, type) if {
	target_protocols(policy_kind, type)
} else := acts_on_whole_ports(policy_kind, type)

_target_entry(policy_kind, type) := [entry |
	some entry in get(policy_kind).targets
	concat("/", [entry.group, entry.kind]) == type
][0]

# METADATA
# description: Objects of a type, or their sections, count at the policy kind's effective level (semantics P5).
acts_on(policy_kind, type) if is_acted_on(get(policy_kind), type)

# METADATA
# description: |
#   The types of backends among a policy kind's targets that have no level: their objects are effective targets even if
#   no rule names them (semantics P2, P5).
backend_types(policy_kind) := {type |
	get(policy_kind).effectiveTarget == "Backend"
	some target in get(policy_kind).targets
	type := concat("/", [target.group, target.kind])
	not levels.by_type[type]
	object.get(target, "role", "Backend") == "Backend"
	acts_on(policy_kind, type)
}

# METADATA
# description: A policy kind is of class Direct (semantics C2).
is_direct(policy_kind) if {
	get(policy_kind).class == "Direct"
} else := false

# METADATA
# description: |
#   A policy kind is Inherited and acts at its declared targets: the policies above merge, and objects that no policy
#   names are not effective targets (semantics C1, effectiveTarget Target).
acts_where_declared(policy_kind) if {
	get(policy_kind).effectiveTarget == "Target"
	not is_direct(policy_kind)
} else := false

# METADATA
# description: A policy kind acts at its declared targets, with class Direct or as `acts_where_declared`.
acts_at_targets(policy_kind) if {
	is_direct(policy_kind)
} else := acts_where_declared(policy_kind)

# METADATA
# description: A policy kind's paths name Namespaces, because its policies may target them (semantics P3).
names_namespaces(policy_kind) if {
	may_target(policy_kind, "core/Namespace")
} else := false
