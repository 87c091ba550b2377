package bridge.v1

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `dependents`: the effects of a change of the objects `keys`, `{scopes: {policyKind: [targets]}, objects, policies}`:
#   the effective targets to recompute, in addition to those that were computed before at `objects`, and the policies
#   and PolicyKinds whose acceptance may differ. `was` has by key the previous index paths of the object. A changed
#   description of a policy kind affects all its policies, which this query does not include.
# entrypoint: true
dependents := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := {
	"scopes": {kind: sort(nodes) | some kind, nodes in _concerned_scopes},
	"objects": sort(queries.dependent_objects),
	"policies": sort(queries.dependent_policies),
}

# The others, such as shipped presets of vendors that a cluster does not have, have no scopes. The former scopes of a
# deleted policy follow from its old paths.
_kinds_with_policies := kinds.names & lookup.types

_concerned_scopes[kind] contains scope if {
	some kind in _kinds_with_policies
	some node in (queries.dependent_objects | _concerned_frontends)
	some scope in scopes.scopes_at_or_below(kind, node)
}

_concerned_scopes[kind] contains scope if {
	some [kind, key] in _concerned_targets
	kinds.get(kind)
	some scope in scopes.scopes_at_or_below(kind, _node(kind, key))
}

# The declared targets to recompute, as `[kind, key]`, whatever their objects are now.
_concerned_targets contains [keys.type_of(policy), ref.key] if {
	some policy in queries.changed_policies
	some ref in policies.declared_refs(policy)
}

# A policy that conflicts at one target has no effect at its others (semantics F5). One that acts on whole ports may be at a Gateway
# whose ListenerSet changed.
_concerned_targets contains [kind, ref.key] if {
	some policy in queries.dependent_policies
	kind := keys.type_of(policy)
	_depends_on_others(kind) # before the refs: a policy of another kind may select all of a cluster
	some ref in policies.declared_refs(policy)
}

_concerned_targets contains [kind, target] if some ["attached", kind, target] in queries.old_paths
_concerned_targets contains [keys.type_of(policy), object_key] if some [policy, object_key] in queries.former_selections

_concerned_targets contains [keys.type_of(policy), object_key] if {
	some [policy, object_keys] in queries.reselections
	some object_key in object_keys
}

# A Direct kind that reports statuses for objects above its targets (semantics S3), or that has no effect below Gateways
# of other controllers (P8).
_concerned_scopes[kind] contains scope if {
	some kind in _kinds_with_policies
	_depends_above(kind)
	some below in _concerned_below
	some policy in attachment.policies_targeting(below)
	keys.type_of(policy) == kind
	some scope in scopes.scopes_at_or_below(kind, below)
}

_concerned_below contains below if {
	some object_key in queries.dependent_objects
	some below in hierarchy.objects_below(object_key)
}

_depends_on_others(kind) if kinds.get(kind).sameLevel == "ConflictOnOverlap"

_depends_on_others(kind) if {
	some entry in kinds.get(kind).targets
	entry.wholePorts
}

_depends_above(kind) if outcomes.keeps_status_above(kind)

_depends_above(kind) if {
	kinds.is_direct(kind)
	kinds.get(kind).controllers
}

# A Direct kind's refs that count only below a GatewayClass (semantics T1). From the changed objects down, because
# authors may have thousands of such refs.
_concerned_targets contains [kind, ref.key] if {
	some kind in index.class_limited_kinds
	kinds.is_direct(kind)
	limited := index.class_limited_policies(kind)
	limited != set()
	some below in _concerned_below
	some policy in (index.policies_targeting(below) & limited)
	some ref in policies.named_refs(policy)
	ref.class
	ref.object == below
}

# A ref may name a missing section; then its object is used.
_node(kind, key) := attachment.place(kind, key) if {
	true
} else := keys.frontend(keys.object_of(key)) if {
	kinds.frontend_role(kind, keys.type_of(key))
} else := keys.object_of(key)

# Frontends whose object changed, and those of a changed or deleted consumer route, which replaces the others' routes
# for its namespace (semantics P6).
_concerned_frontends contains frontend if {
	some key in queries.dependent_objects
	frontend := keys.frontend(key)
	count(index.declared_children(frontend)) > 0
}

_concerned_frontends contains frontend if {
	some key in queries.dependent_objects
	some frontend in index.declared_parents(key)
	keys.is_frontend(frontend)
	keys.parse(frontend).namespace != keys.parse(key).namespace
}

_concerned_frontends contains frontend if {
	some ["children", frontend] in queries.old_paths
	keys.is_frontend(frontend)
}

# METADATA
# description: |
#   `scopes`: every effective target of policies, by policy kind.
# entrypoint: true
scopes := problem if {
	problem := queries.input_problem
} else := {kind: sort(nodes) |
	some kind in queries.policy_kinds
	nodes := {node | some policy in lookup.keys_of(kind); some node in scopes.candidate_scopes(policy)}
}

# METADATA
# description: |
#   `policies`: the keys of all policies of the active kinds.
# entrypoint: true
policies := problem if {
	problem := queries.input_problem
} else := sort({policy | some kind in queries.policy_kinds; some policy in lookup.keys_of(kind)})

# METADATA
# description: |
#   `kinds_in_force`: the active policy kinds, as the replicator stores them in `data.kinds`.
# entrypoint: true
kinds_in_force := kinds.active_kinds

# METADATA
# description: |
#   `kind_documents`: the documents of the active policy kinds, which the replicator stores: `kinds` and `kind_sets`.
# entrypoint: true
kind_documents := {"kinds": kinds.active_kinds, "kind_sets": kinds.sets_of(kinds.active_kinds)}

# METADATA
# description: |
#   `policykinds`: the keys of all PolicyKind resources, active or not.
# entrypoint: true
policykinds := sort(lookup.keys_of(kinds.policykind_type))

# METADATA
# description: |
#   `refused_policykinds`: why each PolicyKind that is not active is refused, by its key.
# entrypoint: true
refused_policykinds := {key: verdict.message |
	some key in policykinds
	verdict := kinds.verdict(key)
	verdict.status != "True"
}

# METADATA
# description: |
#   `undescribed`: the types of policies that no active policy kind describes, `{message, crd?, near?}` by
#   `<group>/<Kind>`: the key of the CRD, and a similar policy kind.
# entrypoint: true
undescribed := problem if {
	problem := queries.input_problem
} else := kinds.undescribed

# METADATA
# description: |
#   `guessed`: the probable fields of a PolicyKind for the type `guessedType` (`<group>/<Kind>`), from its CRD: a list
#   of `{field, value, why}`. Empty if no CRD defines the type.
# entrypoint: true
guessed := problem if {
	problem := queries.problem([["guessedType", "type"]])
} else := kinds.guessed(input.guessedType) if {
	true
} else := []

# METADATA
# description: |
#   `version_problems`: the policies that are written in a version that their CRD does not serve, or that has other fields than the
#   one that is read, `[{policy, reason, message}]`. In a cluster there are none, because the API server converts objects.
# entrypoint: true
version_problems := problem if {
	problem := queries.input_problem
} else := sort({object.union({"policy": policy}, problem) |
	some type in kinds.in_use
	kinds.get(type).versions
	some policy in lookup.keys_of(type)
	problem := kinds.version_problem(type, lookup.api_version(policy))
})

# METADATA
# description: |
#   `policykind_doubts`: by the PolicyKind's key, messages about kinds that an accepted PolicyKind names and that no CRD
#   defines; by the key of a preset's CRD, messages about fields that the preset reads and the schema does not have.
# entrypoint: true
policykind_doubts := problem if {
	problem := queries.input_problem
} else := object.union(kinds.doubts, kinds.preset_doubts)
