package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The facts of a policy: they depend only on the policy and its kind. The replicator stores them in `data.facts` with
#   the policy. Stored facts count while their `by` is current; otherwise the query computes them, as it does for
#   policies in `changes`. Undefined for an object that is not a policy.
facts(key) := stored if {
	stored := lookup.stored_facts(key)
	stored.by == kinds.stamp(keys.type_of(key))
} else := _facts_unread(lookup.get(key), message) if {
	message := excess(key)
} else := _facts_within_bounds(lookup.get(key))

# METADATA
# description: |
#   One field of the facts of a policy. The spec and its origins may be large, and `facts` reads all fields: use this
#   function for other fields of policies that might not be merged.
fact(key, field) := lookup.stored_fact(key, field) if {
	_are_current(key)
} else := facts(key)[field] if {
	not _are_current(key)
}

_are_current(key) if lookup.stored_fact(key, "by") == kinds.stamp(keys.type_of(key))

# METADATA
# description: |
#   The facts of a policy object: `by`, see `kinds.stamp`; `order` `[age, namespace/name, key]`, the order of policies
#   of one level (semantics F1); `refs`, the targets that it names; `near`, those of them that are accepted if the
#   target exists; `breadth`, how wide a policy of a kind with `selectors` selects (T8); `deleting`, whether it has a
#   deletionTimestamp (T5); `invalid`, why it is Invalid as a whole (T2). A policy with a valid spec also has the result
#   of `spec_proper`, `leaves`, their number, `tombstones` if its spec has a null, `custom`, the inputs of its Custom
#   strategy, and `rank`, see `kinds.rank`. A policy above a bound is not read any further (T6).
facts_of(obj) := _facts_unread(obj, stanza_problem(obj)) if {
	_is_without_targets(obj)
} else := _facts_unread(obj, message) if {
	message := index.excess(obj)
} else := _facts_within_bounds(obj)

# Of such a policy `links` gets only the fields that every object has (`link_fields`), so its facts depend on no others.
_is_without_targets(obj) if {
	not kinds.has_selectors(keys.type(obj.apiVersion, obj.kind))
	every field in index.target_fields {
		object.get(obj, ["spec", field], null) == null
	}
}

_facts_unread(obj, message) := object.union(
	{"by": kinds.stamp(type), "order": _order(obj), "refs": [], "invalid": message},
	{"deleting": true | obj.metadata.deletionTimestamp},
) if {
	type := keys.type(obj.apiVersion, obj.kind)
	kinds.get(type)
}

_facts_within_bounds(obj) := object.union_n([
	{
		"by": kinds.stamp(type),
		"order": _order(obj),
		"refs": refs,
	},
	{"deleting": true | obj.metadata.deletionTimestamp},
	{"near": {ref.key: true | some ref in refs; is_near(key, ref)} | _may_be_near(type, obj)},
	{"invalid": message | message := problem(type, obj)},
	{"breadth": breadth(type, obj) | kinds.has_selectors(type)},
	_spec_facts(type, obj, spec_proper(type, obj)),
]) if {
	type := keys.type(obj.apiVersion, obj.kind)
	kinds.get(type)
	key := object_key(obj)
	refs := index.target_refs(obj)
}

# Of a kind whose policies select by fields, wider policies come before narrower ones.
_order(obj) := [lookup.age_of(obj), keys.alphabetical(key), key] if {
	key := object_key(obj)
	not kinds.has_selectors(keys.type_of(key))
} else := [[breadth(keys.type_of(key), obj), lookup.age_of(obj)], keys.alphabetical(key), key] if {
	key := object_key(obj)
}

_spec_facts(type, obj, spec_facts) := object.union_n([
	spec_facts,
	{"leaves": count(spec_facts.origins)},
	{"tombstones": true | _has_null(spec_facts.spec)},
	{"custom": [kinds.get(type).custom, type] | spec_facts.strategy == "Custom"},
	{"rank": kinds.rank(type, obj) | kinds.get(type).order},
]) if {
	not spec_facts.error
} else := {}

# METADATA
# description: Why a policy is Invalid as a whole; undefined if it is valid.
problem(type, obj) := spec_proper(type, obj).error if {
	true
} else := stanza_problem(obj)

# A valid policy that is not being deleted, of a kind whose policies do not conflict at a target.
_may_be_near(type, obj) if {
	not obj.metadata.deletionTimestamp
	not kinds.get(type).sameLevel in {"Conflict", "ConflictOnOverlap"}
	not problem(type, obj)
}

_has_null(spec) if walk(spec, [_, null])

# METADATA
# description: The key of a policy object.
object_key(obj) := keys.of(obj)

# METADATA
# description: The strategy of a policy, by its name. Undefined if its spec is invalid.
strategy_of(key) := fact(key, "strategy")

# METADATA
# description: The pointers of the leaves of a policy's spec proper.
pointers(key) := object.keys(facts(key).origins)
