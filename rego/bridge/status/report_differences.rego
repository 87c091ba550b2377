package bridge.status

# METADATA
# description: |
#   The difference between a controller's report and the bridge's result: both results, and the bridge's reason. Undefined if one
#   of the bridge's `verdicts` (lists of conditions) agrees with the report (semantics S5).
difference(report, verdicts) := fit(sprintf("%s says %s, the bridge says %s", [
	object.get(report, "controllerName", "the status"),
	_explained(report.conditions),
	_explained(verdicts[0]),
])) if {
	count(verdicts) > 0
	every own in verdicts {
		_contradicts(report.conditions, own)
	}
}

_contradicts(theirs, own) if {
	{_accepted(theirs).status, _accepted(own).status} == {"True", "False"}
}

# The bridge cannot interpret reasons that GEP-713 does not define.
_contradicts(theirs, own) if {
	reasons := {_accepted(theirs).reason, _accepted(own).reason}
	_accepted(theirs).status == "False"
	_accepted(own).status == "False"
	count(reasons) == 2
	count(reasons - {"Conflicted", "Invalid", "TargetNotFound"}) == 0
}

_contradicts(theirs, own) if {
	_accepted(theirs).status != "False"
	_accepted(own).status != "False"
	[_effect(theirs), _effect(own)] in _contradictions
}

# Vendors report Overridden also for a part of the scopes, so it never contradicts a partial outcome.
_contradictions := {["Overridden", "Full"], ["Full", "Overridden"], ["None", "Full"], ["Full", "None"]}

_accepted(conditions) := [condition | some condition in conditions; condition.type == "Accepted"][0] if {
	true
} else := {"status": "", "reason": "", "message": ""}

_effect(conditions) := "Overridden" if {
	some condition in conditions
	_is_overridden(condition)
} else := "Partial" if {
	some condition in conditions
	_is_partial(condition)
} else := "Full" if {
	some condition in conditions
	_is_effect(condition, "True")
} else := "None" if {
	some condition in conditions
	_is_effect(condition, "False")
} else := "Unknown"

_is_overridden(condition) if {
	condition.type == "Overridden"
	condition.status == "True"
}

_is_overridden(condition) if {
	_is_effect(condition, "False")
	condition.reason == "Overridden"
}

_is_partial(condition) if {
	condition.type == "PartiallyEnforced"
	condition.status == "True"
}

_is_partial(condition) if {
	_is_effect(condition, "True")
	condition.reason == "PartiallyProgrammed"
}

# GEP-713 of 2026 and of 2025, and kgateway.
_is_effect(condition, status) if {
	condition.type in {"Programmed", "Enforced", "Attached"}
	condition.status == status
}

# METADATA
# description: The result of a policy, which is the reason of its most significant condition.
word(conditions) := reason if {
	reason := _deciding(conditions).reason
	reason != ""
} else := sprintf("%s=%s", [_deciding(conditions).type, _deciding(conditions).status])

# The result, with the reason if the policy has no effect.
_explained(conditions) := sprintf("%s (%s)", [word(conditions), message]) if {
	not _has_effect(_deciding(conditions))
	message := _deciding(conditions).message
	message != ""
} else := word(conditions)

_has_effect(condition) if {
	condition.status == "True"
	condition.type != "Overridden"
}

# The most significant condition of a policy.
_deciding(conditions) := [condition |
	some decides in ["refused", "overridden", "effect", "accepted", "any"]
	some condition in conditions
	_decides(decides, condition)
][0]

_decides("refused", condition) if {
	condition.type == "Accepted"
	condition.status == "False"
}

_decides("overridden", condition) if _is_overridden(condition)

_decides("effect", condition) if _is_partial(condition)

_decides("effect", condition) if _is_effect(condition, condition.status)

_decides("accepted", condition) if condition.type == "Accepted"

_decides("any", _)
