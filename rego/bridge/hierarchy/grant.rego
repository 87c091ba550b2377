package bridge.hierarchy

import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   A ReferenceGrant in the target's namespace allows objects of the referrer's kind and namespace to name it.
is_granted(referrer, target) if {
	from := keys.parse(referrer)
	to := keys.parse(target)
	some grant in lookup.objects_in("gateway.networking.k8s.io/ReferenceGrant", to.namespace)
	some giver in grant.spec.from
	keys.group_name(giver.group) == from.group
	giver.kind == from.kind
	giver.namespace == from.namespace
	some taker in grant.spec.to
	keys.group_name(taker.group) == to.group
	taker.kind == to.kind
	object.get(taker, "name", to.name) in {to.name, ""}
}
