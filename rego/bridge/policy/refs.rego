package bridge.policy

import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# The refs by name of a replicated policy; see `target_refs`. None for a policy above a bound (semantics T6).
named_refs(policy_key) := fact(policy_key, "refs") if {
	true
} else := [] if {
	excess(policy_key)
} else := index.target_refs(lookup.get(policy_key))

declared_refs(policy_key) := named_refs(policy_key) if {
	not may_select(keys.type_of(policy_key))
} else := array.flatten([
	named_refs(policy_key),
	[ref |
		some selector in selectors_of(policy_key)
		some ref in selected_refs(selector.namespace, selector.type, selector.text)
	],
	[ref | kinds.is_bound(keys.type_of(policy_key)); some ref in bound_refs(policy_key)],
])

# The objects of a type that a selector selects in a namespace (`-` for cluster-scoped ones, or `any_namespace`), as
# refs in the order of their keys, as if a policy named each.
selected_refs(namespace, type, text) := [object.union(object_ref(key), {"anywhere": true | namespace == any_namespace}) |
	namespaces := {found | namespace == any_namespace; some found in lookup.namespaces_of(type)} | ({namespace} - {any_namespace})
	some key in sort({key |
		some found_namespace in namespaces
		some name, _ in lookup.objects_in(type, found_namespace)
		key := concat("/", [type, found_namespace, name])
		selects_object(text, key)
	})
]

selected_ref(policy_key, object_key) := bound_ref(object_key) if {
	kinds.is_bound(keys.type_of(policy_key))
} else := object_ref(object_key) if {
	keys.parse(policy_key).namespace == keys.parse(object_key).namespace
} else := object.union(object_ref(object_key), {"anywhere": true}) if {
	keys.parse(object_key).namespace != "-"
} else := object_ref(object_key)

object_ref(object_key) := {"object": object_key, "section": "", "key": object_key}

# Why a ref of a policy is Invalid by the policy, its kind and the ref only (semantics T2, T3); undefined if it is
# valid.
ref_problem(policy_key, ref) := message if {
	message := _kind_problem(keys.parse(policy_key).type, keys.parse(ref.object).type)
} else := message if {
	kinds.traits(keys.type_of(policy_key)).limitsRefs
	message := _limit_problem(policy_key, ref)
} else := sprintf("%s cannot target a section of %s", [keys.parse(policy_key).kind, keys.with_article(keys.parse(ref.object).kind)]) if {
	ref.section != ""
	not kinds.may_target_sections(keys.parse(policy_key).type, keys.parse(ref.object).type)
} else := sprintf("%q is not a valid sectionName: give the rule a name, and use that name", [ref.section]) if {
	regex.match(`[\[\]]`, ref.section)
} else := _namespace_problem(policy_key, ref, keys.parse(policy_key).namespace, keys.parse(ref.object)) if {
	not _in_own_namespace(policy_key, ref.object)
}

_limit_problem(policy_key, ref) := sprintf("%s can only target the %s %s", [keys.parse(policy_key).kind, keys.parse(ref.object).kind, concat(" and ", names)]) if {
	names := kinds.target_condition(keys.type_of(policy_key), keys.type_of(ref.object), "names")
	not keys.parse(ref.object).name in names
} else := sprintf("%s must name a section of %s", [keys.parse(policy_key).kind, keys.with_article(keys.parse(ref.object).kind)]) if {
	ref.section == ""
	kinds.target_condition(keys.type_of(policy_key), keys.type_of(ref.object), "needsSection")
}

_kind_problem(policy_kind, type) := sprintf("%s cannot target %s%s", [
	split(policy_kind, "/")[1],
	keys.with_article(split(type, "/")[1]),
	group_hint(policy_kind, type),
]) if not kinds.may_target(policy_kind, type)

# A ref of a policy that is accepted if its target exists, by the policy, its kind and the ref only, for policies that
# may have such refs. Stored with the policy.
is_near(policy_key, ref) if {
	not kinds.depends_on_target(keys.type_of(policy_key), keys.type_of(ref.object))
	_in_own_namespace(policy_key, ref.object)
	not ref_problem(policy_key, ref)
}

_in_own_namespace(policy_key, object_key) if {
	namespace := keys.parse(object_key).namespace
	namespace == keys.parse(policy_key).namespace
	namespace != "-"
}

# Only cluster-scoped policies may target cluster-scoped objects, except a policy's own Namespace; a cluster-scoped
# policy has no default namespace for targets (semantics T3).
_namespace_problem(policy_key, ref, own, target) := message if {
	target.namespace == "-"
	own != "-"
	not ref.anywhere
	not kinds.is_root_namespace(keys.type_of(policy_key), own)
	not {"type": target.type, "name": target.name} == {"type": "core/Namespace", "name": own}
	message := _scope_message(kinds.of_policy(policy_key), keys.describe(ref.key))
} else := sprintf("%s cannot target %s, which is in another namespace", [keys.parse(policy_key).kind, keys.describe(ref.key)]) if {
	not target.namespace in {"-", own}
	own != "-"
	not ref.anywhere
	kinds.of_policy(policy_key).crossNamespace == "Forbidden"
} else := sprintf("A cluster-scoped policy must name the namespace of %s", [keys.describe(ref.key)]) if {
	target.namespace == "-"
	own == "-"
	levels.by_type[target.type]
	not kinds.cluster_scoped(target.type)
}

_scope_message(kind, name) := sprintf("Only policies in the root namespace %s can target %s, which is cluster-scoped", [kind.rootNamespace, name]) if {
	true
} else := sprintf("A policy in a namespace cannot target %s, which is cluster-scoped", [name])

# Why a selector of a policy cannot select anything (semantics T2, T3).
selector_problem(policy_key, selector) := message if {
	message := _kind_problem(keys.type_of(policy_key), selector.type)
} else := sprintf("A namespaced policy selects objects in its namespace only, but %s is cluster-scoped", [keys.with_article(split(selector.type, "/")[1])]) if {
	selector.namespace != any_namespace
	keys.parse(policy_key).namespace != "-"
	kinds.cluster_scoped(selector.type)
} else := sprintf("A cluster-scoped policy selects cluster-scoped objects only, but %s is namespaced", [keys.with_article(split(selector.type, "/")[1])]) if {
	selector.namespace == "-"
	levels.by_type[selector.type]
	not kinds.cluster_scoped(selector.type)
}

# The hint of a message about a target with a wrong group: the group of the ref, and the group of that kind among the
# policy kind's targets, or in the hierarchy if it lists none. Empty if the group is right, or if no group has the kind.
group_hint(policy_kind, type) := sprintf(" (its group is %q; did you mean %q?)", [_written(group), _written(known[0])]) if {
	[group, kind] := split(type, "/")
	known := _groups_of(policy_kind, kind)
	count(known) > 0
	not group in known
} else := ""

_groups_of(policy_kind, kind) := sort({entry.group | some entry in targets; entry.kind == kind}) if {
	targets := kinds.get(policy_kind).targets
} else := sort({split(type, "/")[0] | some type, _ in levels.by_type; split(type, "/")[1] == kind})

# As in a ref: the core group is empty.
_written(group) := object.get({"core": ""}, group, group)
