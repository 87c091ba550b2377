package bridge.status

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The desired status of a policy, `{policy, policyKind, mode, controllerName?, conditions, types}`; `types` are the
#   bridge's condition types. If the kind reports by ancestor, `{…, ancestors, unreported}`: the entries, and the places
#   `[object, place]` of omitted ancestors. Accepted=False has no outcome (semantics S1).
#   `reported` has the reports of other controllers about an observed policy; see `reported`.
of_policy(policy_key, tallies) := object.union(entry, {"reported": reports |
	entry.mode == "Observe"
	reports := reported(policy_key, entry)
	count(reports) > 0
}) if {
	entry := object.union(_about(policy_key), _shaped(policy_key, tallies, kinds.of_policy(policy_key).statusShape))
}

_shaped(policy_key, tallies, "Conditions") := {"conditions": conditions(policy_key, tallies), "types": sort(policy_types)}

_shaped(policy_key, tallies, "Ancestors") := ancestors(policy_key, tallies)

_about(policy_key) := object.union(
	{"policy": policy_key, "policyKind": keys.parse(policy_key).type, "mode": kind.mode},
	{"controllerName": kind.controllerName | kind.controllerName},
) if {
	kind := kinds.of_policy(policy_key)
}

# METADATA
# description: The conditions of a policy from its tallies, each with the generation that it was computed from.
conditions(policy_key, tallies) := [with_generation(policy_key, condition) |
	some condition in _conditions(policy_key, accepted_condition(policy_key), tallies)
]

_conditions(_, verdict, _) := [verdict] if verdict.status == "False"

_conditions(policy_key, verdict, tallies) := array.concat([verdict], outcome_conditions(policy_key, tallies)) if {
	verdict.status == "True"
}

# METADATA
# description: A condition with observedGeneration, if the object has a generation.
with_generation(key, condition) := object.union(condition, {"observedGeneration": generation}) if {
	generation := lookup.get(key).metadata.generation
} else := condition
