# METADATA
# title: Views
# description: What an OPA with a view has.
package bridge.views

import data.bridge.attachment
import data.bridge.hierarchy
import data.bridge.index
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup
import data.bridge.policy as policies
import data.bridge.queries

# METADATA
# description: |
#   The keys of a view, of objects and of missing ones: what is below `roots` and above that, ListenerSets and routes that
#   may conflict with it, and the policies there with what else they name, and with what they conflict there.
keys_below(roots) := ((places | named_by) | contenders) | grants if {
	paths := _on_paths({key | some root in roots; some key in hierarchy.objects_below(root)}, roots)
	beside := {key | some place in paths; levels.of(place) in {"Gateway", "Route"}; some key in (index.listener_sets_of(place) | hierarchy.rivals(place))}
	joined := paths | _on_paths(beside, roots)
	named_by := {policy | some place in joined; some policy in attachment.policies_targeting(place)}
	named := {ref.object | some policy in named_by; some ref in policies.named_refs(policy)}
	contenders := {policy | some place in named; some policy in attachment.policies_targeting(place); queries.depends_on_others(keys.type_of(policy))}
	places := joined | _on_paths(named, roots)
	type := "gateway.networking.k8s.io/ReferenceGrant"
	grants := {concat("/", [type, ns, name]) | some ns in {keys.namespace(place) | some place in places}; some name, _ in lookup.objects_in(type, ns)}
}

_on_paths(found, roots) := {trim_suffix(place, "@frontend") | some key in found; some place in _above(key, concat("", ["core/Namespace/-/", keys.namespace(key)]), roots)}

# An object and everything above it; of a backend only its Namespace, because routes of other Gateways may use it.
_above(key, namespace, roots) := {key, namespace} if {
	levels.of(key) == "Backend"
	not namespace in roots
} else := hierarchy.objects_above(key)
