package bridge.attachment

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   The attachments of a kind's policies that do not count for an effective target, although they name a node of one of
#   its paths: `{policy, target, reason, message}`. The reason is that of the verdict, Deleting for a policy that is
#   being deleted, OtherClass for a ref whose className excludes it from one of the paths, or OtherController if the
#   kind's `controllers` do (semantics T1 to T6, P8). `explain` adds these to an effective policy.
rejections(policy_kind, node) := {rejection |
	paths := hierarchy.all_kind_paths(policy_kind, node)
	some object_key in _objects_on(paths)
	some policy_key in policies_targeting(object_key)
	keys.parse(policy_key).type == policy_kind
	some ref in refs_on(policy_key, object_key)
	_concerns(policy_kind, ref, paths)
	rejection := object.union({"policy": policy_key, "target": ref.key}, _refusal(policy_key, ref, paths))
} | {rejection |
	some object_key in _objects_on(hierarchy.all_kind_paths(policy_kind, node))
	some policy_key in index.oversized_policies(object_key)
	keys.parse(policy_key).type == policy_kind
	rejection := {"policy": policy_key, "target": object_key, "reason": "Invalid", "message": policies.excess(policy_key)}
}

_objects_on(paths) := {keys.parse(node).object | some path in paths; some node in path}

# A ref to another section of the object does not concern this target; one to a missing section may.
_concerns(policy_kind, ref, paths) if {
	some path in paths
	place(policy_kind, ref.key) in path
}

_concerns(policy_kind, ref, _) if not place(policy_kind, ref.key)

_refusal(policy, ref, paths) := {"reason": "Deleting", "message": message} if {
	not takes_part(policy)
	message := sprintf("%s %s is being deleted", [keys.parse(policy).kind, keys.short(policy)])
} else := found if {
	found := verdict(policy, ref)
	found.reason != "Accepted"
} else := {"reason": "OtherClass", "message": message} if {
	policy_kind := keys.parse(policy).type
	node := place(policy_kind, ref.key)
	classes := limits(policy_kind, node)[policy]
	some path in paths
	node in path
	not runs_through(policy_kind, path, classes)
	message := sprintf("className limits it to paths through GatewayClass %s", [concat(" or ", sort(classes))])
} else := {"reason": "OtherController", "message": message} if {
	policy_kind := keys.parse(policy).type
	node := place(policy_kind, ref.key)
	names := kinds.get(policy_kind).controllers
	class := sort({hierarchy.kept_off_by(policy_kind, path) | some path in paths; node in path})[0]
	message := sprintf("GatewayClass %s is of another controller than %s: policies of %s do not count below it", [
		keys.parse(class).name,
		concat(" and ", sort(names)),
		keys.parse(policy).kind,
	])
}
