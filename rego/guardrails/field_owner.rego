# METADATA
# title: Field owner
# description: |
#   Only policies of `namespaces` (names, or * with text before or after it) may set the `field` (a JSON pointer) of
#   the effective policy of `kind`.
package bridge.guardrails.field_owner

import data.bridge.effective_targets

violations contains {"message": message, "severity": "high", "field": pointer, "policies": {policy}} if {
	some pointer, origin in input.policies[input.parameters.kind].origins
	startswith(pointer, _field)
	startswith(concat("", [pointer, "/"]), concat("", [_field, "/"]))
	some policy in effective_targets.owners(origin)
	namespace := split(policy, "/")[2]
	not _is_permitted(namespace)
	message := sprintf("%s is set by %s, which is in namespace %s", [pointer, effective_targets.described(policy), namespace])
}

violations contains {"message": sprintf("%s is unknown: %s", [input.parameters.kind, why]), "severity": "unknown"} if {
	why := input.policies[input.parameters.kind].unknown
}

violations contains {"message": message, "severity": "unknown"} if {
	message := effective_targets.misspelled(object.get(input.parameters, "kind", ""), object.get(input.parameters, "field", ""))
}

_field := input.parameters.field

_is_permitted(namespace) if {
	some pattern in input.parameters.namespaces
	glob.match(pattern, [], namespace)
}
