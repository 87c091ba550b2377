package bridge.effective

import data.bridge.lib.leaves

# METADATA
# description: |
#   What the fold of a plain kind comes to, without its steps (semantics F1, F2): of policies, the established ones first, the
#   topmost atomic override, else the most specific policy, over the patch defaults above it, the higher the weaker, and
#   under the patch overrides above it, the higher the stronger. Atomic defaults give way.
layers(policies) := array.concat(
	[policy | some index, policy in above; strategies[index] == "PatchDefaults"],
	array.concat(
		[policies[base]],
		array.reverse([policy | some index, policy in above; strategies[index] == "PatchOverrides"]),
	),
) if {
	last := count(policies) - 1
	strategies := [facts(policy).strategy | some policy in policies]
	base := array.concat([index | some index, strategy in strategies; strategy == "AtomicOverrides"; index < last], [last])[0]
	above := array.slice(policies, 0, base)
}

# METADATA
# description: |
#   These policies in one, the weakest first, `{spec, origins}`. Undefined where it matters in which order they are united: one
#   has a leaf where another has an object, or all are empty.
united(policies) := {"spec": _without_nulls(policies, side.spec), "origins": side.origins} if {
	sides := [side | some policy in policies; side := facts(policy).side; side.spec != {}]
	side := _one_of(sides)
}

_one_of([side]) := side

_one_of(sides) := {"spec": object.union_n([side.spec | some side in sides]), "origins": origins} if {
	count(sides) > 1
	origins := object.union_n([side.origins | some side in sides])
	_no_leaf_within_another(object.keys(origins))
}

# No pointer is a beginning of another. A set of a thousand is compared by two builtins.
_no_leaf_within_another(pointers) if {
	all := concat("\n", pointers)
	not strings.any_prefix_match(pointers, split(concat("", [replace(all, "\n", "/\n"), "/"]), "\n"))
	count(split(all, "\n")) == count(pointers)
}

_without_nulls(policies, spec) := leaves.without_nulls(spec) if {
	some policy in policies
	facts(policy).nulls
} else := spec
