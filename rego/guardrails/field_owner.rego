# METADATA
# title: Field owner
# description: |
#   Only policies of `namespaces` (names, or * with text before or after it) may set the `field` (a JSON pointer) of
#   the effective policy of `kind`.
package bridge.guardrails.field_owner

import data.bridge.effective
import data.bridge.effective_targets

violations_at(target, parameters, _) := _found(effective_targets.effect(target.policies, parameters), parameters)

# A function of what is in effect, so OPA computes it once for all targets with the same.
_found(effect, parameters) := effective_targets.unknown(effect, parameters) if {
	true
} else := {{"message": message, "severity": "high", "field": found.path, "policies": {policy}, "extent": [namespace]} |
	some found in effective.leaves_at(effect, parameters.field)
	some policy in found.policies
	namespace := split(policy, "/")[2]
	not _is_permitted(namespace, parameters)
	message := sprintf("%s is set by %s, which is in namespace %s", [effective.field_name(found.path), effective_targets.described(policy), namespace])
}

_is_permitted(namespace, parameters) if {
	some pattern in parameters.namespaces
	glob.match(pattern, [], namespace)
}
