package bridge.status

import data.bridge.lib.keys
import data.bridge.lookup

# The reports of controllers about a policy of an observed kind, besides the bridge's own `entry` of its status:
# `{controllerName?, ancestorRef?, conditions, says, outdated, difference?}` for each entry of status.ancestors, and one
# for status.conditions. `says` is the report in one word, `difference` explains a contradiction to the bridge's
# verdict. A report about an older generation of the policy is `outdated` and not compared, and nothing is compared with
# an incomplete verdict (semantics S5).
reported(policy_key, entry) := [object.union_n([report, {"says": word(report.conditions), "outdated": outdated}, differing]) |
	some report in array.concat(
		[{"conditions": _readable_conditions(object.get(lookup.get(policy_key), ["status", "conditions"], []))}],
		[object.union({"controllerName": other.controllerName, "conditions": _readable_conditions(object.get(other, "conditions", []))}, ref) |
			some other in array.slice(list_at(policy_key, ["status", "ancestors"]), 0, ancestor_bound)
			is_string(other.controllerName)
			fields := ["group", "kind", "namespace", "name", "sectionName"]
			ref := {"ancestorRef": object.filter(other.ancestorRef, fields) | is_string(other.ancestorRef.name)}
		],
	)
	report.conditions != []
	generation := object.get(lookup.get(policy_key), ["metadata", "generation"], 0)
	outdated := count([condition | some condition in report.conditions; condition.observedGeneration < generation]) > 0
	differing := {"difference": text |
		not outdated
		not entry.incomplete
		text := difference(report, _verdicts_beside(policy_key, report, entry))
	}
]

# A folder may have any content: conditions that a cluster would reject are omitted.
_readable_conditions(conditions) := [object.union({"reason": "", "message": ""}, object.filter(condition, fields)) |
	fields := ["type", "status", "reason", "message", "observedGeneration"]
	is_array(conditions)
	some condition in conditions
	every field in ["type", "status"] {
		is_string(condition[field])
	}
	every field in ["reason", "message"] {
		is_string(object.get(condition, field, ""))
	}
]

# The conditions of the bridge at the ancestor of a report: at the same section, else the same object, else everywhere.
_verdicts_beside(_, _, entry) := [entry.conditions] if entry.conditions
_verdicts_beside(policy_key, report, entry) := [groups |
	wanted := _place(policy_key, object.get(report, "ancestorRef", {}))
	some groups in [
		[own.conditions | some own in entry.ancestors; _place(policy_key, own.ancestorRef) == wanted],
		[own.conditions | some own in entry.ancestors; object.remove(_place(policy_key, own.ancestorRef), ["sectionName"]) == object.remove(wanted, ["sectionName"])],
		[own.conditions | some own in entry.ancestors],
	]
	count(groups) > 0
][0] if entry.ancestors

# An ancestorRef with the defaults of Gateway API.
_place(policy_key, ref) := object.union(
	{"group": keys.gateway_api, "kind": "Gateway", "namespace": keys.parse(policy_key).namespace, "sectionName": ""},
	ref,
)

# The difference between a controller's report and the bridge's result: both results, and the bridge's reason. Undefined
# if one of the bridge's `verdicts` (lists of conditions) agrees with the report (semantics S5).
difference(report, verdicts) := fit(sprintf("%s reports %s, but Policy Bridge expects %s", [
	object.get(report, "controllerName", "the status"),
	_explained(report.conditions),
	_explained(verdicts[0]),
])) if {
	count(verdicts) > 0
	every own in verdicts {
		_contradicts(report.conditions, own)
	}
}

_contradicts(theirs, own) if {_accepted(theirs).status, _accepted(own).status} == {"True", "False"}

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
_contradictions := {["Overridden", "Full"], ["Full", "Overridden"], ["None", "Full"], ["Full", "None"], ["Attached", "None"]}

_accepted(conditions) := [condition | some condition in conditions; condition.type == "Accepted"][0] if {
	true
} else := {"status": "", "reason": "", "message": ""}

_effect(conditions) := [effect |
	some effect in ["Overridden", "Partial", "Full", "Attached", "None"]
	some condition in conditions
	_meaning(condition) == effect
][0] if {
	true
} else := "Unknown"

# What a condition says about a policy, by the conditions of GEP-713 of 2026 and of 2025, and of kgateway.
_meaning(condition) := meaning if {
	meaning := {
		["Accepted", "False"]: "Refused",
		["Overridden", "True"]: "Overridden",
		["PartiallyEnforced", "True"]: "Partial",
	}[[condition.type, condition.status]]
} else := "Accepted" if {
	condition.type == "Accepted"
} else := "Attached" if {
	# kgateway says it of a policy at its own place, whatever prevails below.
	[condition.type, condition.status, condition.reason] == ["Attached", "True", "Attached"]
} else := effect if {
	condition.type in {"Programmed", "Enforced", "Attached"}
	by_reason := {["False", "Overridden"]: "Overridden", ["True", "PartiallyProgrammed"]: "Partial"}
	by_status := object.get({"True": "Full", "False": "None"}, condition.status, "Unknown")
	effect := object.get(by_reason, [[condition.status, condition.reason]], by_status)
} else := "Other"

# The result of a policy, which is the reason of its most significant condition.
word(conditions) := reason if {
	reason := _deciding(conditions).reason
	reason != ""
} else := sprintf("%s=%s", [_deciding(conditions).type, _deciding(conditions).status])

# The result, with the reason if the policy has no effect.
_explained(conditions) := concat("", array.concat([word(conditions)], [sprintf(" (%s)", [condition.message]) |
	condition := _deciding(conditions)
	condition.message != ""
	_needs_reason(condition)
]))

_needs_reason(condition) if condition.status != "True"
_needs_reason(condition) if condition.type == "Overridden"

# The most significant condition of a policy.
_deciding(conditions) := [condition |
	some meanings in [{"Refused"}, {"Overridden"}, {"Partial", "Full", "Attached", "None", "Unknown"}, {"Accepted"}, {"Other"}]
	some condition in conditions
	_meaning(condition) in meanings
][0]
