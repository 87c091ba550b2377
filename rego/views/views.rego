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
#   The keys of a view, of objects and of missing ones: what is below `roots` and above that, Gateways, ListenerSets and routes
#   that may conflict with it, and the policies there with what else they name, and with what they conflict there.
keys_below(roots) := (((places | named_by) | contenders) | grants) | parameters if {
	paths := _on_paths({key | some root in roots; some key in hierarchy.objects_below(root)}, roots)
	beside := {key | some place in paths; levels.of(place) in {"Gateway", "Route"}; some key in (index.listener_sets_of(place) | hierarchy.rivals(place))}
	merged := hierarchy.with_listener_sets({other | some place in paths; levels.of(place) == "Gateway"; some other in hierarchy.merged_with(place)})
	parameters := {key | some place in paths; levels.of(place) == "GatewayClass"; some key in hierarchy.sharing_parameters(place)}
	joined := paths | _on_paths(beside | merged, roots)
	named_by := {policy | some place in joined; some policy in attachment.policies_targeting(place)}
	named := {ref.object | some policy in named_by; some ref in policies.named_refs(policy)}
	contenders := {policy | some place in named; some policy in attachment.policies_targeting(place); queries.depends_on_others(keys.type_of(policy))}
	places := joined | _on_paths(named, roots)
	grants := {concat("/", [_grant, ns, name]) | some ns in {keys.namespace(place) | some place in places}; some name, _ in lookup.objects_in(_grant, ns)}
}

# METADATA
# description: "`roots` with the Gateways that have the same proxies as one below them: a request to one may be served by another."
with_merged(roots) := roots if {
	hierarchy.shares_proxies == false
} else := roots | {other |
	some root in roots
	some key in hierarchy.objects_below(root)
	levels.of(key) == "Gateway"
	some other in hierarchy.merged_with(key)
}

_grant := "gateway.networking.k8s.io/ReferenceGrant"

_on_paths(found, roots) := {trim_suffix(place, "@frontend") | some key in found; some place in _above(key, concat("", ["core/Namespace/-/", keys.namespace(key)]), roots)}

# An object and everything above it; of a backend only its Namespace.
_above(key, namespace, roots) := {key, namespace} if {
	_is_shared(key, namespace, roots)
} else := hierarchy.objects_above(key)

# A backend in a view of other objects than Namespaces: routes of other Gateways may use it.
_is_shared(key, namespace, roots) if {
	levels.of(key) == "Backend"
	not namespace in roots
}

# METADATA
# description: |
#   The marks of a view with these keys below `roots` that exist. A changed object concerns the view if it has one of them:
#   an object of the view, or a missing one; the other end of a link that joins an object to these; a namespace from which
#   policies or grants select there; a type of which the view has all objects.
marks(roots, within) := union({
	names,
	{type | some type in input.types},
	{mark | input.namespaceSelector; some mark in ({"core/Namespace"} | {concat(" ", ["in", keys.parse(root).name]) | some root in roots})},
	{index.default_gateways_key, "selects *"},
	{concat(" ", [how, namespace]) | some namespace in {split(key, "/")[2] | some key in names}; some how in ["selects", "grants"]},
	{concat(" ", ["above", key]) | some key in names; not _is_shared(key, concat("/", ["core/Namespace/-", split(key, "/")[2]]), roots)},
}) if {
	names := within | {key | some key in input.roots}
}

# METADATA
# description: The marks of a changed object, which has or had these paths in the index.
marks_of_change(key, paths) := union({
	{key, keys.type_of(key), concat(" ", ["in", namespace])},
	{concat(" ", ["grants", namespace]) | keys.type_of(key) == _grant},
	{_mark_of_end(path[0], keys.object_of(path[1])) | some path in paths},
	{concat(" ", ["selects", path[1]]) | some path in paths; path[0] == "selectors"},
}) if {
	namespace := split(key, "/")[2]
}

# The parts of the index whose entries name the other end of a link; other parts repeat these.
_mark_of_end("parents", end) := concat(" ", ["above", end])
_mark_of_end(part, end) := end if part in {"children", "extended", "targeted", "members", "oversized"}
