package bridge.problems

# METADATA
# description: |
#   The violations that a change introduces by the guardrails as they are before it, and that those after it let pass:
#   `former` and `latter` are violations by the former guardrails before and after the rest of the change, `after` those after
#   all of it. An exemption that the change adds counts. `guardrails` are the changed objects.
passed_by_relaxing(violations, guardrails) := {object.union(row, {
	"reason": "GuardrailRelaxed",
	"message": sprintf("%s, by the %s as it is before the change", [row.message, by.name]),
	"causes": by.causes,
}) |
	introduced := compared(violations.former, violations.latter).introduced
	excused := [_as_denied(row) | some row in violations.after]
	some row in compared(excused, introduced).introduced
	row.enforcementAction in {"deny", "warn"}
	by := _former(row.about, guardrails)
}

_as_denied(row) := object.union(row, {"enforcementAction": "deny"}) if {
	row.exemption
} else := row

_former(constraint, guardrails) := {"name": "Constraint", "causes": [constraint]} if {
	constraint in guardrails
} else := {"name": "guardrail's Rego", "causes": sort(guardrails)}
