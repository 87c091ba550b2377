package bridge.constraints

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.status as reporting

# METADATA
# description: |
#   The condition Accepted of a Constraint: whether it is valid and its policy is loaded. `replicated` are the types
#   that the audit covers, null for all; the message lists the types that the Constraint names and the audit does not
#   cover.
accepted(name, replicated) := reporting.with_generation(concat("/", [type, "-", name]), object.union(
	{"type": "Accepted"},
	_accepted(name, replicated),
))

_accepted(name, _) := {"status": "False", "reason": "Invalid", "message": concat("; ", wrong)} if {
	wrong := problems(object.get(all_constraints[name], "spec", null))
	count(wrong) > 0
} else := {"status": "False", "reason": "PolicyNotFound", "message": message} if {
	policy := active_constraints[name].policy
	not is_loaded(policy)
	message := policy_missing(policy, action(active_constraints[name]))
}

_accepted(name, replicated) := {"status": "True", "reason": "Accepted", "message": message} if {
	is_loaded(active_constraints[name].policy)
	message := concat("; ", array.concat(
		["Constraint is active"],
		[sprintf("not audited, because not replicated (setting types): %s", [concat(", ", missing)]) |
			missing := sort(_not_replicated(name, replicated))
			count(missing) > 0
		],
	))
}

# METADATA
# description: The message for a policy that is not loaded, by the action for violations.
policy_missing(policy, done) := sprintf("policy %s is not loaded, or has no rule violation: until then, %s", [policy, _meanwhile[done]])

_meanwhile := {
	"deny": "matching objects are denied",
	"warn": "matching objects cause warnings",
	"dryrun": "matching objects count as violations",
}

_not_replicated(_, null) := set()

_not_replicated(name, _) := set() if not active_constraints[name]

_not_replicated(name, replicated) := {concat("/", [keys.group_name(group), kind]) |
	some entry in active_constraints[name].match.kinds
	some group in entry.apiGroups
	some kind in entry.kinds
	group != "*"
	kind != "*"
} - (({object_type | some object_type in replicated} | lookup.types) | kinds.names) if {
	replicated != null
	active_constraints[name]
}

# METADATA
# description: A row of violations in the form of a Constraint's status.
status_entry(violation) := {
	"group": api_group(parts.group),
	"kind": parts.kind,
	"namespace": keys.namespace(violation.object),
	"name": parts.name,
	"enforcementAction": violation.enforcementAction,
	"message": violation.message,
} if {
	parts := keys.parse(violation.object)
}

# METADATA
# description: |
#   The report on a Constraint; `unaudited` are the types that it names and that are not replicated. It includes
#   violations if they were counted: `counted` is `{total, first}`, their number and the first rows, or null.
report(name, replicated, counted) := object.union(
	{
		"constraint": name,
		"policy": object.get(spec, "policy", ""),
		"enforcementAction": action(spec),
		"condition": accepted(name, replicated),
		"unaudited": sort(_not_replicated(name, replicated)),
	},
	_violations_part(name, counted),
) if {
	spec := object.get({"": all_constraints[name].spec | is_object(all_constraints[name].spec)}, "", {})
}

_violations_part(_, null) := {}

# A Constraint that is not active has no violations.
_violations_part(name, counted) := {} if {
	counted != null
	not active_constraints[name]
}

_violations_part(name, counted) := {
	"totalViolations": counted.total,
	"violations": [status_entry(violation) | some violation in counted.first],
} if {
	active_constraints[name]
}
