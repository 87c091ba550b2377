package bridge.scopes

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy as policies

# METADATA
# description: |
#   The policies of a kind that users may expect at a target and that act elsewhere, `{policy, target, reason,
#   message}`: those that name the target while the kind has no effective target at or below it (NoScope, or the
#   verdict's reason), and Direct policies on nodes above it (OtherTarget). `explain` adds these for a kind without
#   effective policies.
policies_elsewhere(policy_kind, target) := {rejection |
	kinds.is_direct(policy_kind)
	some object_key in (hierarchy.objects_above(keys.parse(target).object) - {keys.parse(target).object})
	some [policy_key, ref] in _refs_to(policy_kind, object_key)
	attachment.verdict(policy_key, ref).reason == "Accepted"
	rejection := {"policy": policy_key, "target": ref.key, "reason": "OtherTarget", "message": sprintf(
		"%s is Direct: it acts at %s only",
		[keys.parse(policy_key).kind, policies.describe(ref)],
	)}
} | {rejection |
	not kinds.is_direct(policy_kind)
	count(scopes_at_or_below(policy_kind, target)) == 0
	some [policy_key, ref] in _refs_to(policy_kind, keys.parse(target).object)
	rejection := object.union({"policy": policy_key, "target": ref.key}, _without_scope(policy_kind, policy_key, ref))
}

_refs_to(policy_kind, object_key) := {[policy_key, ref] |
	some policy_key in attachment.policies_targeting(object_key)
	keys.parse(policy_key).type == policy_kind
	some ref in attachment.refs_on(policy_key, object_key)
}

_without_scope(policy_kind, policy_key, ref) := {"reason": "NoScope", "message": message} if {
	attachment.verdict(policy_key, ref).reason == "Accepted"
	message := sprintf("there is no %s at or below %s", [lower(kinds.get(policy_kind).effectiveTarget), policies.describe(ref)])
} else := attachment.verdict(policy_key, ref)
