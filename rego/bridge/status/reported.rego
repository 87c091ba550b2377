package bridge.status

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The reports of controllers about a policy of an observed kind, besides the bridge's own `entry` of its status:
#   `{controllerName?, ancestorRef?, conditions, says, outdated, difference?}` for each entry of status.ancestors, and one for
#   status.conditions. `says` is the report in one word, `difference` explains a contradiction to the bridge's verdict. A report
#   about an older generation of the policy is `outdated` and not compared (semantics S5).
reported(policy_key, entry) := [object.union_n([report, {"says": word(report.conditions), "outdated": outdated}, differing]) |
	some report in _reports(policy_key)
	outdated := _is_outdated(policy_key, report.conditions)
	differing := {"difference": text |
		not outdated
		text := difference(report, _verdicts_beside(policy_key, report, entry))
	}
]

_reports(policy_key) := array.concat(
	[{"conditions": conditions} |
		conditions := _readable_conditions(object.get(lookup.get(policy_key), ["status", "conditions"], []))
		count(conditions) > 0
	],
	[object.union({"controllerName": entry.controllerName, "conditions": conditions}, _ancestor_ref(entry)) |
		some entry in array.slice(current_ancestors(policy_key), 0, ancestor_bound)
		is_string(entry.controllerName)
		conditions := _readable_conditions(object.get(entry, "conditions", []))
		count(conditions) > 0
	],
)

_ancestor_ref(entry) := {"ancestorRef": object.filter(entry.ancestorRef, ["group", "kind", "namespace", "name", "sectionName"])} if {
	is_string(entry.ancestorRef.name)
} else := {}

# A folder may have any content: conditions that a cluster would reject are omitted.
_readable_conditions(conditions) := [object.union(_no_texts, object.filter(condition, _condition_fields)) |
	is_array(conditions)
	some condition in conditions
	every field in ["type", "status"] {
		is_string(condition[field])
	}
	every field in ["reason", "message"] {
		is_string(object.get(condition, field, ""))
	}
]

_no_texts := {"reason": "", "message": ""}

_condition_fields := ["type", "status", "reason", "message", "observedGeneration"]

_is_outdated(policy_key, conditions) if {
	generation := lookup.get(policy_key).metadata.generation
	some condition in conditions
	condition.observedGeneration < generation
} else := false

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
][0] if {
	entry.ancestors
}

# An ancestorRef with the defaults of Gateway API.
_place(policy_key, ref) := object.union(
	{"group": keys.gateway_api, "kind": "Gateway", "namespace": keys.parse(policy_key).namespace, "sectionName": ""},
	ref,
)
