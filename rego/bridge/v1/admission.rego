package bridge.v1

import data.bridge.admission as deciding
import data.bridge.constraints as judging
import data.bridge.lib.keys
import data.bridge.problems as finding
import data.bridge.queries

# METADATA
# description: |
#   The decision on a request to the API server, `{denied, warnings}`, lists of messages; any message in `denied` denies the
#   request. The input is an AdmissionRequest (admission.k8s.io/v1). If the change concerns more objects than one query
#   judges, and none of those denies it, `remaining` has the others for `guarded_violations`. If it is denied because OPA
#   lacks guardrails, `unloaded` has their packages: they may arrive at any moment. `change` is what the request changes, if
#   guardrails may answer later requests differently after it. The input's field `admitted` has the changes of such requests
#   that OPA lacks: the decision is that on the request after them.
# entrypoint: true
admission := queries.error("InvalidInput", "the input must be an AdmissionRequest, with operation and kind") if {
	not _is_request
} else := {"denied": [], "warnings": []} if {
	# Most requests of a cluster: the rules below would find the same with ten times as many expressions.
	not deciding.may_concern
} else := object.union_n([
	{
		"denied": sort(union({found.denied | some found in deciding.decisions})),
		"warnings": sort(union({found.warnings | some found in deciding.decisions})),
	},
	{"remaining": remaining | some found in deciding.decisions; remaining := found.remaining},
	{"change": change | some found in deciding.decisions; change := found.change},
	{"unloaded": sort(policies) |
		policies := {policy | some found in deciding.decisions; some policy in found.unloaded}
		policies != set()
	},
])

# METADATA
# description: |
#   The requests that `admission` may find something about, `{every, types}`: those of `types`, of other types only with
#   `every`. Requests for a subresource, for a Binding and for the bridge's own resources always are among them.
# entrypoint: true
concerned := {"every": deciding.concerned.every, "types": sort(deciding.concerned.types)}

# METADATA
# description: |
#   The same decision on a `request` without the effects of a policy, and with the result of guardrails that were judged
#   alone (`introduced`, `unjudged`). Both depend on other objects, on which a module of an admin may fail or take long: the
#   webhook queries this decision then, so that no object of a user denies requests of others.
# entrypoint: true
admission_without_effects := found if {
	judged := {found | some found in deciding.messages_of_judged}
	found := admission with input as input.request
		with deciding.effects as {"the effects of this policy are unknown: OPA could not compute them"}
		with deciding.sample_effects as {}
		with deciding.guardrails as set()
		with deciding.guardrail_messages as judged
}

_is_request if {
	input.operation in {"CREATE", "UPDATE", "DELETE", "CONNECT"}
	is_string(input.kind.kind)
	is_string(input.kind.group)
}

# METADATA
# description: |
#   The violations of Constraints by stored objects, by default all of the kinds that a Constraint names. With `identified`
#   their details have what `compared_violations` needs.
# entrypoint: true
violations := problem if {
	problem := _audit_problem
} else := problem if {
	problem := queries.unknown_field({"constraints", "unjudged", "identified", "before"})
} else := sort(judging.violations(_constraints, object.get(input, "objects", null)))

# METADATA
# description: |
#   How two states differ in violations: those that are `introduced`, `fixed` and `unchanged`. `before` and `after` are
#   results of the query `violations` with `identified`.
# entrypoint: true
compared_violations := problem if {
	problem := queries.unknown_field({"before", "after"})
} else := problem if {
	problem := queries.problem([["before", _rows, "before must be a list of violations"], ["after", _rows, "after must be a list of violations"]])
} else := {name: [_without_identity(row) | some row in rows] |
	some name, rows in judging.compared(object.get(input, "before", []), object.get(input, "after", []))
}

# METADATA
# description: |
#   The problems that the change of guardrails is: `constraints` has the object before and after it of each Constraint, null
#   for a deleted one, and one that demands less is a warning. What the guardrails as they are before the change find in the
#   rest of it are the others: `former` and `latter` are problems by these guardrails before and after that rest, `after` the
#   problems after the whole change, and `guardrails` the changed objects.
# entrypoint: true
relaxed_guardrails := array.concat(
	[{"subject": key, "about": key, "reason": "GuardrailRelaxed", "message": message, "enforcementAction": "warn"} |
		some [former, latter] in input.constraints
		message := judging.relaxed(former, latter)
		key := concat("/", [judging.type, "-", former.metadata.name])
	],
	sort(finding.passed_by_relaxing(
		{name: object.get(input, name, []) | some name in ["former", "latter", "after"]},
		object.get(input, "guardrails", []),
	)),
)

_rows := {"type": "array", "items": {"type": "object", "required": ["constraint", "object", "message"]}}

_without_identity(row) := json.remove(row, ["/details/identity"])

# METADATA
# description: |
#   The keys of the objects that Constraints match by their kind, by the Constraint's name. With `namespaces` only those in
#   them, of Constraints with a namespaceSelector. With `objects` those of them that the Constraints match.
# entrypoint: true
audit_keys := problem if {
	problem := _audit_problem
} else := {name: sort(judging.matched_among(name, input.objects)) | some name in _constraints; judging.active_constraints[name]} if {
	input.objects
} else := {name: sort(judging.audit_keys_in(name, input.namespaces)) | some name in _constraints; judging.selects_by_namespace(name)} if {
	input.namespaces
} else := {name: sort(judging.audit_keys(name)) | some name in _constraints; judging.active_constraints[name]}

# METADATA
# description: |
#   The condition Accepted of each of `constraints`, or of all, and the types that it names and that are not `replicated`.
#   With `counted`, also the violations in the form of its status; with `objects`, only Constraints that may be meant for one of them.
# entrypoint: true
constraints := problem if {
	problem := _audit_problem
} else := [entry |
	some name in sort(_constraints)
	judging.all_constraints[name]
	_may_concern_some(name)
	entry := judging.report(name, object.get(input, "replicated", null), object.get(input, ["counted", name], null))
]

_may_concern_some(_) if object.get(input, "objects", null) == null

_may_concern_some(name) if {
	some key in input.objects
	judging.may_concern(name, keys.type_of(key))
}

_audit_problem := queries.not_ready if {
	true
} else := queries.problem([
	["constraints", _texts, "constraints must be a list of names of Constraints"],
	["replicated", _texts, "replicated must be a list of types, <group>/<Kind>"],
	["namespaces", _texts, "namespaces must be a list of names of namespaces"],
	["objects", "optional objects"],
	["unjudged", {"type": "object"}, "unjudged must have reasons by the names of Constraints"],
]) if {
	true
} else := queries.first_missing([concat("/", [judging.type, "-", name]) | is_array(input.constraints); some name in input.constraints])

_texts := {"type": ["array", "null"], "items": {"type": "string"}}

_constraints := {name | some name in input.constraints} if {
	is_array(input.constraints)
} else := object.keys(judging.all_constraints)
