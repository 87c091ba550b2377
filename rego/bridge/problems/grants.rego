package bridge.problems

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# The kinds in a ReferenceGrant that do not exist: it grants nothing to them. Without a similar name it is a warning,
# because the CRD of such a kind may be installed where these objects are applied.
grant_problems(key) := {object.union({"subject": key, "about": key, "reason": "UnknownKind", "value": value, "message": message}, weight) |
	some field in ["from", "to"]
	some place, entry in lookup.get(key).spec[field]
	[problem, misspelled] := kinds.problem_of_reference(entry.group, entry.kind)
	weight := {"enforcementAction": "warn" | not misspelled}
	value := sprintf("%s %v/%v", [field, entry.group, entry.kind])
	message := sprintf("%s[%d]: %s", [field, place, problem])
} if {
	keys.type_of(key) == "gateway.networking.k8s.io/ReferenceGrant"
} else := set()
