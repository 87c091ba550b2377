package bridge.v1

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.outcomes
import data.bridge.policy as policies
import data.bridge.scopes

# METADATA
# description: |
#   `concerned`: what a change of the objects `keys` may concern, `{scopes: {policyKind: [targets]}, objects, policies}`:
#   the effective targets to compute anew, with those that were computed before at `objects`, and the policies and
#   PolicyKinds whose acceptance may differ. `was` holds by key the index paths that the object had before. A policy
#   kind that is described otherwise concerns all its policies: that is not said here.
# entrypoint: true
concerned := _keys_problem("keys") if {
	_keys_problem("keys")
} else := {
	"scopes": {kind: sort(nodes) | some kind, nodes in _concerned_scopes},
	"objects": sort(_concerned_objects),
	"policies": sort(_heard),
}

_concerned_scopes[kind] contains scope if {
	some kind in kinds.names
	some object_key in _concerned_objects
	some scope in scopes.at_or_below(kind, object_key)
}

_concerned_scopes[kind] contains scope if {
	some kind in kinds.names
	some frontend in _concerned_frontends
	some scope in scopes.at_or_below(kind, frontend)
}

_concerned_scopes[kind] contains scope if {
	some policy in _concerned_policies
	kind := keys.parse(policy).type
	some ref in policies.declared_refs(policy)
	some scope in scopes.at_or_below(kind, _node(kind, ref.key))
}

_concerned_scopes[kind] contains scope if {
	some ["attached", kind, target] in _old_paths
	kinds.get(kind)
	some scope in scopes.at_or_below(kind, _node(kind, target))
}

_concerned_scopes[kind] contains scope if {
	some [policy, object_key] in _selected_before
	kind := keys.parse(policy).type
	kinds.get(kind)
	some scope in scopes.at_or_below(kind, _node(kind, object_key))
}

# What a changed policy selected by what it selected by before, as [policy, object].
_selected_before contains [policy, ref.object] if {
	some policy in input.keys
	some ["selectors", _, type, text] in input.was[policy]
	some ref in policies.selected_refs(policy, type, text)
}

# A Direct kind's statuses that are kept for what stands above its targets (semantics S3).
_concerned_scopes[kind] contains scope if {
	some kind in kinds.names
	outcomes.kept_above(kind)
	count(lookup.namespaces_of(kind)) > 0
	some object_key in _concerned_objects
	some below in hierarchy.objects_below(object_key)
	some policy in attachment.targeting(below)
	keys.parse(policy).type == kind
	some scope in scopes.at_or_below(kind, below)
}

# A Direct kind's refs that count only below a GatewayClass (semantics T1).
_concerned_scopes[kind] contains scope if {
	some kind in kinds.names
	kinds.direct(kind)
	some policy in index.limited(kind)
	some ref in policies.named_refs(policy)
	ref.class
	some object_key in _concerned_objects
	ref.object in hierarchy.objects_below(object_key)
	some scope in scopes.at_or_below(kind, _node(kind, ref.key))
}

# A ref may name a section that is gone; then its object is asked.
_node(kind, key) := attachment.place(kind, key) if {
	true
} else := keys.frontend(keys.parse(key).object) if {
	kinds.frontend_role(kind, keys.parse(key).type)
} else := keys.parse(key).object

_old_paths := {path | some key in input.keys; some path in input.was[key]}

# Objects whose change reaches down the hierarchy: the changed ones, what they stood above before, and those that refer
# into a namespace whose grants changed.
_concerned_objects contains key if some key in input.keys

_concerned_objects contains child if some ["parents", child] in _old_paths

_concerned_objects contains referrer if {
	some key in input.keys
	keys.parse(key).type == "gateway.networking.k8s.io/ReferenceGrant"
	some referrer in index.referrers(keys.parse(key).namespace)
}

# Frontends whose object changed, and those of a consumer route that changed or is gone: it replaces the others' routes
# for its namespace (semantics P6).
_concerned_frontends contains frontend if {
	some key in _concerned_objects
	frontend := keys.frontend(key)
	count(index.declared_children(frontend)) > 0
}

_concerned_frontends contains frontend if {
	some key in _concerned_objects
	some frontend in index.declared_parents(key)
	keys.is_frontend(frontend)
	keys.parse(frontend).namespace != keys.parse(key).namespace
}

_concerned_frontends contains frontend if {
	some ["children", frontend] in _old_paths
	keys.is_frontend(frontend)
}

_concerned_policies := {key | some key in _concerned_objects; kinds.of_policy(key)}
