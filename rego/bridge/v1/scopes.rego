package bridge.v1

import data.bridge.kinds
import data.bridge.lookup
import data.bridge.queries
import data.bridge.scopes

# METADATA
# description: |
#   `scopes`: every effective target of policies, by policy kind.
# entrypoint: true
scopes := queries.input_problem if {
	queries.input_problem
} else := {kind: sort(nodes) |
	some kind in queries.policy_kinds
	nodes := {node | some policy in lookup.keys_of(kind); some node in scopes.candidate_scopes(policy)}
}

# METADATA
# description: |
#   `policies`: the keys of all policies of the active kinds.
# entrypoint: true
policies := queries.input_problem if {
	queries.input_problem
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
policykinds := sort({concat("/", [kinds.policykind_type, "-", name]) |
	some name, _ in lookup.objects_in(kinds.policykind_type, "-")
})

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
undescribed := queries.input_problem if {
	queries.input_problem
} else := kinds.undescribed

# METADATA
# description: |
#   `guessed`: the probable fields of a PolicyKind for the type `guessedType` (`<group>/<Kind>`), from its CRD: a list
#   of `{field, value, why}`. Empty if no CRD defines the type.
# entrypoint: true
guessed := queries.input_problem if {
	queries.input_problem
} else := queries.error("InvalidInput", "guessedType must be a type, <group>/<Kind>") if {
	not is_string(object.get(input, "guessedType", null))
} else := kinds.guessed(input.guessedType) if {
	true
} else := []

# METADATA
# description: |
#   `version_problems`: the policies that are written in a version that their CRD does not serve, or that has other fields than the
#   one that is read, `[{policy, reason, message}]`. In a cluster there are none, because the API server converts objects.
# entrypoint: true
version_problems := queries.input_problem if {
	queries.input_problem
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
policykind_doubts := queries.input_problem if {
	queries.input_problem
} else := object.union(kinds.doubts, kinds.preset_doubts)
