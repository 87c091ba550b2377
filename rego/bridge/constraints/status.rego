package bridge.constraints

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.status as reporting

# METADATA
# description: |
#   The condition Accepted of a Constraint: whether it makes sense and its policy is loaded. `replicated` are the types that
#   are there to be audited, null for all; of those that it names and that are not, the message tells.
accepted(name, replicated) := reporting.observed(concat("/", [type, "-", name]), object.union(
	{"type": "Accepted"},
	_accepted(name, replicated),
))

_accepted(name, _) := {"status": "False", "reason": "Invalid", "message": concat("; ", wrong)} if {
	wrong := problems(object.get(all[name], "spec", null))
	count(wrong) > 0
} else := {"status": "False", "reason": "PolicyNotFound", "message": message} if {
	policy := in_force[name].policy
	not loaded(policy)
	message := policy_missing(policy, action(in_force[name]))
}

_accepted(name, replicated) := {"status": "True", "reason": "Accepted", "message": message} if {
	loaded(in_force[name].policy)
	message := concat("; ", array.concat(
		["Constraint is in force"],
		[sprintf("not audited, because not replicated (setting types): %s", [concat(", ", missing)]) |
			missing := sort(_not_replicated(name, replicated))
			count(missing) > 0
		],
	))
}

# METADATA
# description: What there is to say of a policy that is not loaded, by what is done about violations.
policy_missing(policy, done) := sprintf("policy %s is not loaded, or has no rule violation: until it is, %s", [policy, _meanwhile[done]])

_meanwhile := {
	"deny": "what it matches is denied",
	"warn": "what it matches is warned about",
	"dryrun": "what it matches counts as a violation",
}

_not_replicated(_, null) := set()

_not_replicated(name, _) := set() if not in_force[name]

_not_replicated(name, replicated) := {concat("/", [keys.group_name(group), kind]) |
	some entry in in_force[name].match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	group != "*"
	kind != "*"
} - (({object_type | some object_type in replicated} | lookup.types) | kinds.names) if {
	replicated != null
	in_force[name]
}

# METADATA
# description: A row of violations as a Constraint's status has it.
shown(row) := {
	"group": api_group(parts.group),
	"kind": parts.kind,
	"namespace": keys.namespace(row.object),
	"name": parts.name,
	"enforcementAction": row.enforcementAction,
	"message": row.message,
} if {
	parts := keys.parse(row.object)
}

# METADATA
# description: |
#   What there is to tell of a Constraint; `unaudited` are the types that it names and that are not replicated. With its
#   violations where they have been counted: `counted` is `{total, first}`, their number and the first rows, or null.
about(name, replicated, counted) := object.union(
	{
		"constraint": name,
		"policy": object.get(spec, "policy", ""),
		"enforcementAction": action(spec),
		"condition": accepted(name, replicated),
		"unaudited": sort(_not_replicated(name, replicated)),
	},
	_violations_shown(name, counted),
) if {
	spec := object.get({"": all[name].spec | is_object(all[name].spec)}, "", {})
}

_violations_shown(_, null) := {}

# One that is not in force judges nothing.
_violations_shown(name, counted) := {} if {
	counted != null
	not in_force[name]
}

_violations_shown(name, counted) := {
	"totalViolations": counted.total,
	"violations": [shown(row) | some row in counted.first],
} if {
	in_force[name]
}
