package bridge.v1

import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.queries
import data.bridge.scopes as acting

# METADATA
# description: |
#   The effects of a change of the objects `keys`, which had the index paths `was`: the effective targets to recompute, and
#   the policies and PolicyKinds whose acceptance may differ. A changed description of a policy kind affects all its
#   policies, which this query does not include.
# entrypoint: true
dependents := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := queries.dependents

# METADATA
# description: The objects whose links a change of the objects `keys` may affect.
# entrypoint: true
neighbors := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["keys", "keys"]])
} else := sort({keys.object_of(node) | some key in input.keys; some node in queries.neighbors_of(key)})

# METADATA
# description: |
#   The keys of all objects that `changes` deletes: those that it names, the objects in a deleted Namespace, and those of the
#   kind of a deleted CRD.
# entrypoint: true
deleted_objects := problem if {
	problem := queries.problem([])
} else := sort(lookup.deleted_keys)

# METADATA
# description: Every effective target of policies, by policy kind; with `policies` those of these policies.
# entrypoint: true
scopes := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["policies", "optional keys"]])
} else := {kind: sort(nodes) |
	some kind in queries.policy_kinds
	nodes := {node | some policy in _policies_of(kind); some node in acting.candidate_scopes(policy)}
}

_policies_of(kind) := {policy | some policy in input.policies; keys.type_of(policy) == kind} if {
	input.policies
} else := lookup.keys_of(kind)

# METADATA
# description: The keys of all policies of the active kinds.
# entrypoint: true
policies := problem if {
	problem := queries.input_problem
} else := sort({policy | some kind in queries.policy_kinds; some policy in lookup.keys_of(kind)})

# METADATA
# description: The active policy kinds, as the replicator stores them in `data.kinds`.
# entrypoint: true
kinds_in_force := kinds.active_kinds

# METADATA
# description: "The documents of the active policy kinds, which the replicator stores: `kinds` and `kind_sets`."
# entrypoint: true
kind_documents := {"kinds": kinds.active_kinds, "kind_sets": kinds.sets_of(kinds.active_kinds)}

# METADATA
# description: The keys of all PolicyKind resources, active or not.
# entrypoint: true
policykinds := sort(lookup.keys_of(kinds.policykind_type))

# METADATA
# description: Why each PolicyKind that is not active is refused, by its key.
# entrypoint: true
refused_policykinds := {key: verdict.message |
	some key in policykinds
	verdict := kinds.verdict(key)
	verdict.status != "True"
}

# METADATA
# description: |
#   The types of policies that no active policy kind describes, `{message, crd?, near?}` by `<group>/<Kind>`.
# entrypoint: true
undescribed := problem if {
	problem := queries.input_problem
} else := kinds.undescribed

# METADATA
# description: |
#   The probable fields of a PolicyKind for the type `guessedType` (`<group>/<Kind>`), from its CRD: a list of `{field,
#   value, why}`. Empty if no CRD defines the type.
# entrypoint: true
guessed := problem if {
	problem := queries.problem([["guessedType", "type"]])
} else := kinds.guessed(input.guessedType) if {
	true
} else := []

# METADATA
# description: |
#   The policies that are written in a version that their CRD does not serve, or that has other fields than the one that
#   is read. In a cluster there are none, because the API server converts objects.
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
#   Messages about kinds that an accepted PolicyKind names and that no CRD defines, by its key; and about fields that a
#   preset reads and the schema does not have, by the key of its CRD.
# entrypoint: true
policykind_doubts := problem if {
	problem := queries.input_problem
} else := object.union(kinds.doubts, kinds.preset_doubts)
