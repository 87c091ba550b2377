package bridge.effective

import data.bridge.attachment
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.policy

# METADATA
# description: |
#   What follows from a policy and its kind alone. The replicator stores it in `data.facts` with the policy; for what
#   `changes` touch, and where they change a kind, it is made here.
facts(policy_key) := data.facts[group][kind][namespace][name] if {
	lookup.unchanged
	[group, kind, namespace, name] := split(policy_key, "/")
} else := data.facts[group][kind][namespace][name] if {
	not lookup.unchanged
	not policy_key in lookup.touched
	not kinds.changed
	[group, kind, namespace, name] := split(policy_key, "/")
} else := made(policy_key)

# METADATA
# description: What `facts` tells, made anew.
made(policy_key) := object.union(
	{
		"order": [lookup.age(policy_key), keys.alphabetical(policy_key), policy_key],
		"refs": [],
		"invalid": message,
		"error": message,
	},
	{"deleting": true | lookup.get(policy_key).metadata.deletionTimestamp},
) if {
	# A policy above a bound is not looked into any further (semantics T6).
	kinds.of_policy(policy_key)
	message := policy.oversized(policy_key)
} else := object.union_n([
	{
		"order": [lookup.age(policy_key), keys.alphabetical(policy_key), policy_key],
		"refs": refs,
	},
	{"near": {ref.key: true | some ref in refs; attachment.is_near(policy_key, ref)} | attachment.may_be_near(policy_key)},
	{"deleting": true | lookup.get(policy_key).metadata.deletionTimestamp},
	{"invalid": message | message := attachment.made_invalid(policy_key)},
	_said(policy_key, made_proper(policy_key)),
]) if {
	kinds.of_policy(policy_key)
	refs := index.target_refs(lookup.get(policy_key))
}

_said(_, proper_made) := {"error": proper_made.error} if proper_made.error

_said(policy_key, proper_made) := object.union(
	{"strategy": proper_made.strategy, "how": made_how(policy_key), "rules": made_merge_rules(policy_key)},
	_sides_made(policy_key, proper_made),
) if {
	not proper_made.error
}

# What rules merge has other leaves than RFC 7386 sees, and is made when asked.
_sides_made(policy_key, proper_made) := {"proper": proper_made} if {
	_ruled(policy_key)
} else := object.union(
	{"side": {"spec": proper_made.spec, "origins": {pointer: policy_key | some pointer in proper_made.pointers}}},
	{"nulls": true | _has_null(proper_made.spec)},
)

_ruled(policy_key) if made_merge_rules(policy_key) != []

_ruled(policy_key) if both(keys.parse(policy_key).type)

_has_null(spec) if {
	walk(spec, [_, null])
}

# METADATA
# description: |
#   A policy's spec proper, with its strategy: `{spec, strategy, pointers}`, or `{error}` where the policy is Invalid.
proper(policy_key) := {"error": facts(policy_key).error} if {
	true
} else := {
	"spec": known.side.spec,
	"strategy": known.strategy,
	"pointers": object.keys(known.side.origins),
} if {
	known := facts(policy_key)
} else := object.union(known.proper, {"pointers": {pointer | some pointer in known.proper.pointers}}) if {
	known := facts(policy_key)
}

# METADATA
# description: A policy's own spec proper as a side of a step, in the form that its rules make of it.
side(policy_key) := facts(policy_key).side if {
	true
} else := made_side(policy_key)

# METADATA
# description: The strategy of a policy, by its name.
strategy_of(policy_key) := facts(policy_key).strategy

# METADATA
# description: What a policy's pairs are merged by where it has the say, `{strategy, rules}`.
how(policy_key) := facts(policy_key).how

# METADATA
# description: The rules of a policy's own strategy.
merge_rules(policy_key) := facts(policy_key).rules
