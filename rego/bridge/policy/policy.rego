# METADATA
# title: Policies
# description: The properties of one policy alone, independent of other objects.
package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.leaves
import data.bridge.lookup
import data.bridge.merge

# The facts of a policy: they depend only on the policy and its kind. The replicator stores them in `data.facts` with
# the policy. Stored facts count while their `by` is current; otherwise the query computes them, as it does for policies
# in `changes`. Undefined for an object that is not a policy.
facts(key) := lookup.stored_facts(key) if {
	_are_current(key)
} else := _facts_unread(lookup.get(key), message) if {
	message := excess(key)
} else := _facts_within_bounds(lookup.get(key))

# One field of the facts of a policy. The spec and its origins may be large, and `facts` reads all fields: use this
# function for other fields of policies that might not be merged.
fact(key, field) := lookup.stored_fact(key, field) if {
	_are_current(key)
} else := facts(key)[field] if {
	not _are_current(key)
}

_are_current(key) if lookup.stored_fact(key, "by") == kinds.stamp(keys.type_of(key))

# The facts of a policy object: `by`, see `kinds.stamp`; `order` `[age, namespace/name, key]`, the order of policies of
# one level (semantics F1); `refs`, the targets that it names; `near`, those of them that are accepted if the target
# exists; `breadth`, how wide a policy of a kind with `selectors` selects (T8); `absence`, why it takes
# no part, see `staging` (T5); `invalid`, why it is Invalid as a whole (T2). A policy with a valid spec also has the result
# of `_spec_proper`, `leaves`, their number, `tombstones` if its spec has a null, `custom`, the inputs of its Custom
# strategy, and `rank`, see `kinds.rank`. A policy above a bound is not read any further (T6).
facts_of(obj) := _facts_unread(obj, _stanza_problem(obj)) if {
	_is_without_targets(obj)
} else := _facts_unread(obj, message) if {
	message := index.excess(obj)
} else := _facts_within_bounds(obj)

# Of such a policy `links` gets only the fields that every object has (`link_fields`), so its facts depend on no others.
_is_without_targets(obj) if {
	kinds.needs_refs(keys.type(obj.apiVersion, obj.kind))
	every field in index.target_fields {
		object.get(obj, ["spec", field], null) == null
	}
}

_facts_unread(obj, message) := object.union(
	{"by": kinds.stamp(type), "order": _order(type, keys.of(obj), obj), "refs": [], "invalid": message},
	{"absence": why | why := absence(obj)},
) if {
	type := keys.type(obj.apiVersion, obj.kind)
	kinds.get(type)
}

_facts_within_bounds(obj) := object.union_n([
	{
		"by": kinds.stamp(type),
		"order": _order(type, key, obj),
		"refs": refs,
	},
	absent,
	{"near": {ref.key: true | some ref in refs; is_near(key, ref)} | {absent, invalid} == {{}}; _may_be_near(type)},
	invalid,
	{"breadth": breadth(type, obj) | kinds.has_selectors(type)},
	_spec_facts(type, obj, spec_facts),
]) if {
	type := keys.type(obj.apiVersion, obj.kind)
	kinds.get(type)
	key := keys.of(obj)
	refs := index.target_refs(obj)
	absent := {"absence": why | why := absence(obj)}
	spec_facts := _spec_proper(type, obj)
	invalid := {"invalid": message | message := _invalidity(type, obj, spec_facts)}
}

# If policies of a kind select by fields, wider policies come before narrower ones; then those of a higher weight, if
# the kind's policies have one. With the precedence Name, age has no effect.
_order(type, key, obj) := [lookup.age_of(obj), keys.alphabetical(key), key] if {
	not kinds.get(type).traits.ranked
} else := [0, keys.alphabetical(key), key] if {
	kinds.get(type).precedence == "Name"
} else := [array.flatten([first, lookup.age_of(obj)]), keys.alphabetical(key), key] if {
	first := array.concat(
		[breadth(type, obj) | kinds.has_selectors(type)],
		[lightness | lightness := 0 - _weight(obj, kinds.get(type).weight.segments)],
	)
}

# An integer, also as a string, such as an annotation's value. Everything else is as if there were none.
_weight(obj, segments) := number if {
	number := to_number(object.get(obj, segments, 0))
	number == floor(number)
} else := 0

_spec_facts(type, obj, spec_facts) := object.union_n([
	spec_facts,
	{"leaves": count(spec_facts.origins)},
	{"tombstones": true | walk(spec_facts.spec, [_, null])},
	{"custom": [kinds.get(type).custom, type] | spec_facts.strategy == "Custom"},
	{"rank": kinds.rank(type, obj) | kinds.get(type).order},
]) if {
	not spec_facts.error
} else := {}

_invalidity(type, obj, spec_facts) := spec_facts.error if {
	true
} else := _stanza_problem(obj) if {
	true
} else := sort(_remarks(kinds.get(type).remarks, obj, "invalid", true))[0]

# METADATA
# description: What the values of a policy mean, as messages by the kind's `remarks`, without those that make it Invalid.
remarks(obj) := _remarks(kinds.get(keys.type(obj.apiVersion, obj.kind)).remarks, obj, "invalid", false)

# METADATA
# description: Those of the messages that are problems of the policy.
problems(obj) := _remarks(kinds.get(keys.type(obj.apiVersion, obj.kind)).remarks, obj, "problem", true)

_remarks(entries, obj, field, value) := {message |
	some entry in entries
	entry[field] == value
	every one in entry.when {
		_has_value(obj, one)
	}
	message := sprintf("%s %s", [keys.describe(keys.of(obj)), entry.message])
}

_has_value(obj, one) if {
	value := _value_or_default(obj, one)
	value in object.get(one, "values", [value])
	not value in object.get(one, "except", [])
}

# As in the API server, a null counts as not set. Undefined without a value.
_value_or_default(obj, one) := value if {
	value := object.get(obj, one.segments, null)
	value != null
} else := one["default"]

# Policies of a kind do not conflict at a target.
_may_be_near(type) if {
	not kinds.get(type).sameLevel in kinds.conflicting
	not kinds.get(type).mustAgree
}

strategy_of(key) := fact(key, "strategy")

# A policy's spec proper (its spec without targets and strategy), `{spec, strategy, rules, origins, parts?}`: `rules` are
# the merge rules of its strategy, `origins` has a key for each leaf. A policy with a wrapper of each direction has
# `parts`, `{spec, strategy}` from the lowest, and their union as its spec. `{error}` if the policy is Invalid (semantics
# F6, F7, T2).
_spec_proper(type, obj) := {"error": message} if {
	message := _problem(type, obj)
} else := object.union(_spec_of_parts(found, merge_rules, keys.of(obj)), {
	"strategy": found[count(found) - 1].strategy,
	"rules": merge_rules,
}) if {
	found := _parts(type, obj)
	merge_rules := object.get(_strategy(type, obj, _place(type, obj)), "rules", object.get(kinds.get(type), "rules", []))
}

_spec_of_parts(found, merge_rules, key) := {"spec": part.spec, "origins": merge.keyed_side(part.spec, key, merge_rules).origins} if {
	[part] = found
} else := {"spec": merge.plain_side(merged, merged.spec).spec, "origins": merged.origins, "parts": found} if {
	merged := merge.merge_sides([merge.keyed_side(part.spec, key, merge_rules) | some part in found])
}

# The parts of a policy, defaults below overrides: one for each wrapper, in most policies one.
_parts(type, obj) := [{"spec": _spec_at(type, found, obj), "strategy": _strategy(type, obj, found).strategy}] if {
	[found] = _places(type, obj)
} else := [part |
	[_, _, part] := sort([[endswith(strategy, "Overrides"), number, {"spec": _spec_at(type, place, obj), "strategy": strategy}] |
		some number, place in _places(type, obj)
		strategy := _strategy(type, obj, place).strategy
	])[_]
]

_problem(type, obj) := "Policy has no spec" if {
	not _place(type, obj)
} else := sprintf("%s is not an object", [odd.path]) if {
	odd := [place | some place in _places(type, obj); not is_object(_value_at(obj, place.segments))][0]
} else := sprintf("Fields beside %s: %s. A policy has one wrapper%s and nothing beside it", [found.path, concat(", ", sort(beside)), each]) if {
	found := _place(type, obj)
	beside := _beside(type, obj, found)
	count(beside) > 0
	each := concat("", [" of each direction" | found.partners != {}])
} else := message if {
	found := _place(type, obj)

	# The places of strategies that belong to another place (GEP-713, "Selecting a merge strategy at runtime"; T2).
	second := sort({segments | some segments in found.otherStrategies; _is_written(type, obj, segments)})[0]
	message := sprintf("A strategy at %s is ignored beside %s: a policy names one strategy%s", [
		leaves.pointer(second),
		found.path,
		concat("", [sprintf(", at %s", [leaves.pointer(found.strategySegments)]) | count(found.strategySegments) > 0]),
	])
} else := [error | some place in _places(type, obj); error := _strategy(type, obj, place).error][0]

# The spec proper at a place of a policy, without targets, strategy, wrappers, and what needs labels in a policy
# without.
_spec_at(type, found, obj) := object.remove(spec, [field | some field in found.withLabels; breadth(type, obj) % 2 == 0]) if {
	spec := json.remove(object.remove(_value_at(obj, found.segments), found.drop), found.inner)
}

# The first place where a policy has a value, its author's if there is one. As in the API server, a null counts as not
# set.
_place(type, obj) := [found | some found in kinds.get(type).places; _is_written(type, obj, found.segments)][0] if {
	true
} else := [found | some found in kinds.get(type).places; _value_at(obj, found.segments) != null][0]

# The places where a policy has its spec: the first one, with a wrapper of the other direction if it has one.
_places(type, obj) := [found] if {
	found := _place(type, obj)
	not _has_partner(type, obj, found)
} else := array.concat([found], [place |
	some place in kinds.get(type).places
	found.partners[place.path]
	_is_written(type, obj, place.segments)
]) if {
	found := _place(type, obj)
}

_has_partner(type, obj, found) if {
	some segments in found.partners
	_is_written(type, obj, segments)
}

_value_at(obj, segments) := object.get(obj, segments, null)

# A policy has a value there, and not only what the API server sets by the defaults of the CRD's schema.
_is_written(type, obj, segments) if {
	value := _value_at(obj, segments)
	value != null
	not _is_default(type, segments, value)
}

_is_default(type, segments, value) if {
	defaults := kinds.get(type).schemaDefaults
	field := leaves.pointer(segments)
	given := defaults[field]
	every leaf in leaves.values(field, value) {
		leaf in given
	}
}

# The content of a policy beside its wrapper: a second wrapper (by its path) or fields other than refs and strategy
# (semantics F6, T2).
_beside(type, obj, found) := {path |
	some path, segments in found.rivals
	_is_written(type, obj, segments)
} | {field |
	holder := found.holder
	some field, _ in object.remove(_value_at(obj, holder.segments), holder.allowed)
	_is_written(type, obj, array.concat(holder.segments, [field]))
}

# Why a policy object is Invalid because of its target refs as a whole; undefined if it is valid.
_stanza_problem(obj) := sprintf("spec.%s is not a list", [odd[0]]) if {
	odd := [field |
		some field in ["targetRefs", "targetSelectors"]
		not is_array(object.get(obj.spec, field, []))
		obj.spec[field] != null
	]
} else := "Policy has both spec.targetRef and spec.targetRefs: remove one of them" if {
	# GEP-713 has targetRef instead of targetRefs, so a policy with both is ambiguous.
	obj.spec.targetRef != null
	count(obj.spec.targetRefs) > 0
} else := "Policy names no target: spec.targetRefs is missing or empty" if {
	not index.raw_refs(obj)[0]
	not obj.spec.targetSelectors[0]
	kinds.needs_refs(keys.type(obj.apiVersion, obj.kind))
}

# Each ref as in the policy, with its place there, `{place, raw}`, in order.
refs_with_places(policy_key) := [{"place": place, "raw": raw} |
	obj := lookup.get(policy_key)
	some number, raw in index.raw_refs(obj)
	place := _ref_place(obj, number)
]

_ref_place(obj, number) := sprintf("spec.targetRefs[%d]", [number]) if {
	is_array(obj.spec.targetRefs)
	count(obj.spec.targetRefs) > 0
} else := "spec.targetRef" if {
	obj.spec.targetRef != null
} else := "spec.targetReference"

# The strategy of a policy at a place of its spec, `{strategy}`, with `rules` if its value at strategyPath has its own
# merge rules, which
# replace the kind's; `{error}` if the value is unknown (semantics F7, T2).
_strategy(type, obj, found) := object.union(
	_named(type, found.strategy, value),
	{"rules": rules | rules := kinds.get(type).strategyRules[value]},
) if {
	count(found.strategySegments) > 0
	value := _value_at(obj, found.strategySegments)
	value != null
} else := {"strategy": found.strategy} if {
	found.strategy != ""
} else := {"strategy": kinds.get(type).defaultStrategy}

_is_meant(name, name)
_is_meant(name, meaning) if lower(meaning) == lower(merge.strategies[name])

# The strategy that a value means, in a wrapper of a strategy ("": a bare spec).
_named(policy_kind, wrapper, value) := {"strategy": concat("", [meaning, _direction(policy_kind, wrapper)])} if {
	meaning := _meaning(policy_kind, value)
	meaning in {"Atomic", "Patch"}
	not kinds.is_direct(policy_kind)
} else := {"strategy": named[0]} if {
	meaning := _meaning(policy_kind, value)
	named := [name |
		some name in _suitable_strategies(policy_kind)
		_is_meant(name, meaning)
	]
} else := {"error": message} if {
	known := object.keys(kinds.get(policy_kind).strategies) | _suitable_strategies(policy_kind)
	message := sprintf("Strategy %v is unknown; known are %s", [value, concat(", ", sort(known))])
}

_meaning(policy_kind, value) := kinds.strategy_of(object.get(kinds.get(policy_kind).strategies, [value], value))

# None is exclusive: a Direct kind has no other strategy, an Inherited kind does not have it (semantics C2, C3).
_suitable_strategies(policy_kind) := ({"None" | kinds.is_direct(policy_kind)} | {"Custom" | kinds.get(policy_kind).custom}) | {name |
	not kinds.is_direct(policy_kind)
	some name in (object.keys(merge.strategies) - {"None", "Custom", "Additive"})
}

# A granularity takes its wrapper's direction, otherwise that of the kind's default strategy (semantics F7).
_direction(policy_kind, wrapper) := "Overrides" if {
	endswith(_decisive(policy_kind, wrapper), "Overrides")
} else := "Defaults"

_decisive(policy_kind, wrapper) := wrapper if {
	wrapper != ""
} else := kinds.get(policy_kind).defaultStrategy

excess(policy_key) := index.excess(lookup.get(policy_key)) if {
	policy_key in lookup.changed_keys
} else := index.stored_excess(policy_key) if {
	not policy_key in lookup.changed_keys
}

# This number of policies is always within `leaf_bound`.
largest_policies := 8

# The maximum number of leaves of all policies that are merged or compared at one place (semantics T7):
# `largest_policies` times the largest size. It limits what a tenant's many large policies cost the queries of all
# tenants.
leaf_bound := largest_policies * index.bounds.leaves

# Policies have at most `leaf_bound` leaves together. Counted only if they might have more.
leaves_within_bound(keys_of_policies) if {
	count(keys_of_policies) <= largest_policies
} else if {
	sum([leaves | some key in keys_of_policies; leaves := fact(key, "leaves")]) <= leaf_bound
}
