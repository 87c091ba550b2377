package bridge.constraints

import data.bridge.lib.keys
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

_not_replicated(name, replicated) := {concat("/", [keys.group_name(group), kind]) |
	some entry in in_force[name].match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	group != "*"
	kind != "*"
} - {object_type | some object_type in replicated} if {
	replicated != null
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
# description: What there is to tell of a Constraint but its violations.
about(name, replicated) := {
	"constraint": name,
	"policy": object.get(spec, "policy", ""),
	"enforcementAction": action(spec),
	"condition": accepted(name, replicated),
} if {
	spec := object.get({"": all[name].spec | is_object(all[name].spec)}, "", {})
}
