package bridge.v1

import data.bridge.attachment
import data.bridge.effective as engine
import data.bridge.hierarchy
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   `concerned`: what a change of the objects `keys` may concern, `{scopes: {policyKind: [targets]}, policies: [keys]}`:
#   the effective targets to compute anew, and the policies whose acceptance may differ. `was` holds by key the index
#   paths that the object had before.
# entrypoint: true
concerned := {"scopes": scoped, "policies": sort(heard)} if {
	scoped := {kind: sort(nodes) |
		some kind in kinds.names
		nodes := {row[1] | some row in _concerned_rows; row[0] == kind}
		count(nodes) > 0
	}
	heard := {policy | some policy in _heard; kinds.of_policy(policy)} | {policy |
		some policy in _heard
		keys.parse(policy).type == kinds.policykind_type
	}
}

_concerned_rows := ({[kind, scope] |
	some kind in kinds.names
	some object_key in _concerned_objects
	some scope in engine.scopes(kind, object_key)
} | {[kind, scope] |
	some policy in _concerned_policies
	kind := keys.parse(policy).type
	kinds.get(kind)
	some ref in attachment.declared(policy)
	some scope in engine.scopes(kind, _node(ref.key))
}) | {[path[1], scope] |
	some path in _old_paths
	path[0] == "attached"
	kinds.get(path[1])
	some scope in engine.scopes(path[1], _node(path[2]))
}

# A ref may name a section that is gone; then its object is asked.
_node(key) := hierarchy.canonical(key)

_node(key) := keys.parse(key).object if not hierarchy.canonical(key)

_old_paths := {path | some key in input.keys; some path in input.was[key]}

# Objects whose change reaches down the hierarchy: the changed ones, what they stood above before, and those that refer
# into a namespace whose grants changed.
_concerned_objects := ({key | some key in input.keys} | {path[1] |
	some path in _old_paths
	path[0] == "parents"
}) | _granted_referrers

_granted_referrers := {referrer |
	some key in input.keys
	keys.parse(key).type == "gateway.networking.k8s.io/ReferenceGrant"
	some referrer in lookup.referrers(keys.parse(key).namespace)
}

_concerned_policies := {key | some key in _concerned_objects; kinds.of_policy(key)} | {policy |
	some kind in _redescribed
	some policy in engine.policies(kind)
}

# Policy kinds whose description may have changed.
_redescribed := {kind |
	some key in input.keys
	keys.parse(key).type == kinds.policykind_type
	some kind in kinds.names
} | {kind |
	some key in input.keys
	keys.parse(key).type == "apiextensions.k8s.io/CustomResourceDefinition"
	crd := lookup.get(key)
	kind := concat("/", [crd.spec.group, crd.spec.names.kind])
	kind in kinds.names
}

# Policies whose acceptance may differ: the changed, those that share a target with one, those whose target changed.
_heard := ((((_concerned_policies | {key | some key in input.keys; keys.parse(key).type == kinds.policykind_type}) | {policy |
	some object_key in _concerned_objects
	some policy in lookup.targeting(object_key)
}) | {policy |
	some concerned_policy in _concerned_policies
	some ref in attachment.declared(concerned_policy)
	some policy in lookup.targeting(ref.object)
}) | {policy |
	some path in _old_paths
	path[0] == "targeted"
	some policy in lookup.targeting(path[1])
}) | {other |
	some key in input.keys
	keys.parse(key).type == kinds.policykind_type
	some other, _ in {sprintf("%s/-/%s", [kinds.policykind_type, name]): true | some name, _ in lookup.objects_in(kinds.policykind_type, "-")}
}
