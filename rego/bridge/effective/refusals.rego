package bridge.effective

import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The policies of an entry that their controller rejects, where its proxies then answer the requests themselves, as `[policy,
#   message]`. By the status of the policies, so only of objects that have one.
refusals(entry) := {[one.policy, message] |
	about := implementations.refusing[keys.type_of(entry.policies[0].policy)]
	some one in entry.policies
	object.get(one, "outcome", "") != "Overridden"
	reason := _rejection(one.policy, about.controller, entry.path)
	message := sprintf("%s rejects %s, so its proxies answer %d themselves: %s", [about.name, keys.describe(one.policy), about.status, reason])
}

# The messages of a controller that rejects a policy, at the Gateway of a path or the listener that it names.
_rejection(policy, controller, path) := concat("; ", messages) if {
	obj := lookup.get(policy)
	messages := sort({object.get(condition, "message", "it gives no reason") |
		some ancestor in obj.status.ancestors
		ancestor.controllerName == controller
		_is_of_path(policy, ancestor.ancestorRef, path)
		some condition in ancestor.conditions
		condition.type == "Accepted"
		condition.status == "False"
		not condition.reason in {"Conflicted", "TargetNotFound"} # another policy applies, or none
		not _is_outdated(condition, obj)
	})
	messages != []
}

_is_of_path(policy, ref, path) if {
	key := keys.format(object.get(ref, "group", keys.gateway_api), object.get(ref, "kind", "Gateway"), object.get(ref, "namespace", keys.parse(policy).namespace), ref.name)
	some node in path
	keys.object_of(node) == key
	not _is_other_section(path, key, object.get(ref, "sectionName", ""))
}

# A path runs through sections of an object, but not through this one.
_is_other_section(path, object_key, name) if {
	name != ""
	sections := {node | some node in path; contains(node, "#"); keys.object_of(node) == object_key}
	sections != set()
	not keys.section(object_key, name) in sections
}

_is_outdated(condition, obj) if condition.observedGeneration < obj.metadata.generation
