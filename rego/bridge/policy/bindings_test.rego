package bridge.policy_test

import data.bridge.attachment
import data.bridge.effective
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.keys
import data.bridge.policy
import data.bridge.testing

_ocm := "policy.open-cluster-management.io"

_ocm_clusters := "cluster.open-cluster-management.io"

# As the preset of Open Cluster Management.
_ocm_kind := testing.policykind({
	"group": _ocm,
	"kind": "Policy",
	"class": "Direct",
	"targets": [{"group": _ocm_clusters, "kind": "ManagedCluster", "sections": false}],
	"boundBy": [
		{
			"group": _ocm,
			"kind": "PolicySet",
			"policies": "/spec/policies",
			"exclusions": {"path": "/spec/exclusions", "policy": "/policyName", "targets": "/clusterNames"},
		},
		{
			"group": _ocm,
			"kind": "PlacementBinding",
			"policies": "/subjects",
			"targets": "/placementRef",
			"restricted": {"path": "/subFilter", "value": "restricted"},
			"overrides": [{"from": "/bindingOverrides/remediationAction", "to": "/remediationAction"}],
		},
		{
			"group": _ocm_clusters,
			"kind": "PlacementDecision",
			"policies": "/metadata/labels/cluster.open-cluster-management.io~1placement",
			"policiesKind": {"group": _ocm_clusters, "kind": "Placement"},
			"targets": "/status/decisions/*/clusterName",
			"targetsKind": {"group": _ocm_clusters, "kind": "ManagedCluster", "scope": "Cluster"},
		},
	],
	"copies": "/metadata/labels/policy.open-cluster-management.io~1root-policy",
	"staged": {"path": "/spec/disabled", "value": true},
	"specPaths": [{"path": "/spec", "without": ["disabled"]}],
	"defaultStrategy": "Additive",
	"statusShape": "Conditions",
})

_ocm_policy(name) := testing.with_spec(
	testing.resource(concat("/", [_ocm, "v1"]), "Policy", "fleet", name),
	{"remediationAction": "inform", "disabled": false},
)

_set(name, names, exclusions) := testing.with_spec(
	testing.resource(concat("/", [_ocm, "v1beta1"]), "PolicySet", "fleet", name),
	{"policies": names, "exclusions": exclusions},
)

_binding(name, placement, subjects) := object.union(testing.resource(concat("/", [_ocm, "v1"]), "PlacementBinding", "fleet", name), {
	"placementRef": {"apiGroup": _ocm_clusters, "kind": "Placement", "name": placement},
	"subjects": [{"apiGroup": _ocm, "kind": kind, "name": subject} | some [kind, subject] in subjects],
})

_enforcing(binding) := object.union(binding, {"bindingOverrides": {"remediationAction": "enforce"}})

_restricted(binding) := object.union(_enforcing(binding), {"subFilter": "restricted"})

_placement(name) := testing.resource(concat("/", [_ocm_clusters, "v1beta1"]), "Placement", "fleet", name)

_decision(placement, clusters) := object.union(
	testing.resource(concat("/", [_ocm_clusters, "v1beta1"]), "PlacementDecision", "fleet", concat("-", [placement, "decision"])),
	{
		"metadata": {"labels": {"cluster.open-cluster-management.io/placement": placement}},
		"status": {"decisions": [{"clusterName": cluster, "reason": ""} | some cluster in clusters]},
	},
)

_managed(name) := testing.resource(concat("/", [_ocm_clusters, "v1"]), "ManagedCluster", "", name)

_cluster_key(name) := concat("/", [_ocm_clusters, "ManagedCluster/-", name])

_ocm_key(name) := concat("/", [_ocm, "Policy/fleet", name])

_decided(name) := concat("/", [_ocm_clusters, "PlacementDecision/fleet", name])

_bound_in(name) := concat("/", [_ocm, "PlacementBinding/fleet", name])

# Two clusters that a placement has both of, policies that it gets by their name (`limits`) and in a set (`logs`), and one
# more policy that nothing binds.
_fleet := [
	_ocm_kind,
	_managed("north"),
	_managed("south"),
	_managed("idle"),
	_ocm_policy("limits"),
	_ocm_policy("logs"),
	_ocm_policy("loose"),
	_placement("all"),
	_decision("all", ["north", "south"]),
	_placement("some"),
	_decision("some", ["north"]),
	_binding("direct", "all", [["Policy", "limits"]]),
	_set("base", ["logs"], []),
	_binding("grouped", "all", [["PolicySet", "base"]]),
]

# The fleet with these objects, also in place of objects of the same keys.
_fleet_with(objects) := array.concat([obj | some obj in _fleet; not keys.of(obj) in {keys.of(other) | some other in objects}], objects)

# The clusters to which objects bind a policy, asked both ways: from the policy, and from each cluster.
_clusters_of(name, objects) := [down, up] if {
	world := testing.changed(_fleet_with(objects))
	refs := policy.bound_refs(_ocm_key(name)) with input as world
	down := [keys.parse(ref.key).name | some ref in refs]
	up := [cluster |
		some cluster in ["idle", "north", "south"]
		bound := policy.policies_bound_to(_cluster_key(cluster)) with input as world
		_ocm_key(name) in bound
	]
}

_both_ways(clusters) := [clusters, clusters]

# T10
test_a_policy_reaches_the_clusters_of_the_placement_that_a_binding_names if {
	_clusters_of("limits", []) == _both_ways(["north", "south"])
	_clusters_of("loose", []) == _both_ways([])
}

# T10
test_a_policy_of_a_set_reaches_the_clusters_that_the_set_is_bound_to if {
	_clusters_of("logs", []) == _both_ways(["north", "south"])
}

# T10
test_a_set_leaves_out_a_policy_at_the_clusters_that_it_excludes if {
	excluding := _set("base", ["logs", "loose"], [{"policyName": "logs", "clusterNames": ["south", "idle"]}])
	_clusters_of("logs", [excluding]) == _both_ways(["north"])
	_clusters_of("loose", [excluding]) == _both_ways(["north", "south"])
}

# T10
test_an_exclusion_of_one_set_leaves_other_bindings_of_the_policy_alone if {
	excluding := _set("base", ["limits"], [{"policyName": "limits", "clusterNames": ["south"]}])
	_clusters_of("limits", [excluding]) == _both_ways(["north", "south"])
}

# T10
test_policies_of_a_missing_placement_or_set_are_not_bound if {
	_clusters_of("loose", [
		_decision("gone", ["idle"]),
		_binding("astray", "gone", [["Policy", "loose"]]),
	]) == _both_ways([])
	_clusters_of("loose", [_binding("astray", "all", [["PolicySet", "gone"]])]) == _both_ways([])
}

# T10
test_a_binding_names_objects_of_its_own_namespace if {
	stranger := object.union(_binding("stranger", "all", [["Policy", "loose"]]), {"metadata": {"namespace": "other"}})
	_clusters_of("loose", [stranger]) == _both_ways([])
}

# T10
test_a_restricted_binding_places_nothing if {
	_clusters_of("loose", [_restricted(_binding("narrow", "some", [["Policy", "loose"]]))]) == _both_ways([])
}

# What a policy does about violations at each of the two clusters.
_actions(name, objects) := [spec.remediationAction |
	some cluster in ["north", "south"]
	spec := policy.spec_at(_ocm_key(name), _cluster_key(cluster)) with input as testing.changed(_fleet_with(objects))
]

# T10
test_a_binding_sets_fields_of_the_spec_at_its_clusters_alone if {
	_actions("limits", []) == ["inform", "inform"]
	_actions("limits", [_enforcing(_binding("second", "some", [["Policy", "limits"]]))]) == ["enforce", "inform"]
	_actions("limits", [_restricted(_binding("narrow", "some", [["Policy", "limits"]]))]) == ["enforce", "inform"]
	_actions("limits", [_restricted(_binding("narrow", "some", [["Policy", "logs"]]))]) == ["inform", "inform"]
}

# T10
test_a_binding_of_a_set_sets_nothing_where_the_set_leaves_the_policy_out if {
	excluding := _set("base", ["limits"], [{"policyName": "limits", "clusterNames": ["south"]}])
	_actions("limits", [excluding, _enforcing(_binding("grouped", "all", [["PolicySet", "base"]]))]) == ["enforce", "inform"]
}

# T10
test_of_several_bindings_that_set_one_field_otherwise_the_first_by_value_counts if {
	bindings := [object.union(_binding(name, "some", [["Policy", "limits"]]), {"bindingOverrides": {"remediationAction": action}}) |
		some name, action in {"a": "enforce", "b": "Enforce"}
	]
	_actions("limits", bindings) == ["Enforce", "inform"]
}

test_the_spec_of_a_policy_that_names_its_targets_is_the_same_at_each if {
	spec := policy.spec_at(_warm, testing.cart_route) with input as testing.changed([_warm_policy])
	spec == {"a": 1}
}

_verdicts_on(name, objects) := [[object.get(keys.parse(verdict.ref.key), "name", ""), verdict.reason, verdict.message] | some verdict in found] if {
	found := attachment.verdicts(_ocm_key(name)) with input as testing.changed(_fleet_with(objects))
}

# T10
test_a_bound_policy_has_a_verdict_on_each_cluster if {
	accepted := "Policy has been accepted"
	_verdicts_on("limits", []) == [["north", "Accepted", accepted], ["south", "Accepted", accepted]]
}

# T10
test_a_policy_that_nothing_binds_says_so if {
	_verdicts_on("loose", []) == [["loose", "TargetNotFound", "No PlacementBinding or PolicySet binds it to a ManagedCluster"]]
}

# T10
test_a_policy_that_nothing_binds_and_that_has_no_spec_is_invalid if {
	bare := object.remove(_ocm_policy("bare"), ["spec"])
	_verdicts_on("bare", [bare]) == [["bare", "Invalid", "Policy has no spec"]]
}

# T10
test_a_copy_that_a_controller_made_is_accepted_without_targets_and_has_no_effect if {
	copy := object.union(_ocm_policy("fleet.limits"), {"metadata": {"labels": {"policy.open-cluster-management.io/root-policy": "fleet.limits"}}})
	_verdicts_on("fleet.limits", [copy]) == [["fleet.limits", "Accepted", "Policy/fleet/fleet.limits is a copy that its controller made"]]
	_effective_at("north", [copy]) == {"limits": "inform", "logs": "inform"}
	_effective_at("north", [copy, _binding("copied", "all", [["Policy", "fleet.limits"]])]) == {"limits": "inform", "logs": "inform"}
}

# The policies that are in effect at a cluster, each with its action there.
_effective_at(cluster, objects) := {keys.parse(one.policy).name: entry.spec[place].remediationAction |
	entries := effective.policies_of(concat("/", [_ocm, "Policy"]), _cluster_key(cluster), "") with input as testing.changed(_fleet_with(objects))
	some entry in entries
	some place, one in entry.policies
}

# T9, T10
test_the_policies_of_a_cluster_apply_side_by_side_without_disabled_ones if {
	disabled := object.union(_ocm_policy("logs"), {"spec": {"disabled": true}})
	_effective_at("south", []) == {"limits": "inform", "logs": "inform"}
	_effective_at("south", [disabled]) == {"limits": "inform"}
	_effective_at("idle", []) == {}
}

# What these stored objects are in an OPA: `[kinds, kind_sets, index]`.
_stored_documents(objects) := [found, sets, index_of_all] if {
	found := kinds.active_kinds with input as {"changes": {"upsert": objects}}
	sets := kinds.sets_of(found)
	index_of_all := object.union_n([testing.stored_entries(keys.of(obj), entries) |
		some obj in objects
		declared := policy.declared_bindings(keys.type(obj.apiVersion, obj.kind), obj) with data.kinds as found with data.kind_sets as sets
		entries := index.entries_of(keys.of(obj), declared)
	])
}

# The policies that are bound to a target by stored objects, after a change.
_stored_at(objects, target, query) := bound if {
	[found, sets, index_of_all] := _stored_documents(objects)
	bound := policy.policies_bound_to(target) with data.objects as testing.stored(objects)
		with data.kinds as found
		with data.kind_sets as sets
		with data.index as index_of_all
		with input as query
}

test_stored_objects_bind_as_changed_ones_do if {
	_stored_at(_fleet, _cluster_key("north"), {}) == {_ocm_key("limits"), _ocm_key("logs")}
	_stored_at(_fleet, _cluster_key("idle"), {}) == set()
	_stored_at([_ocm_kind, _ocm_policy("loose"), _managed("north")], _cluster_key("north"), {}) == set()
}

test_a_changed_binding_counts_in_place_of_the_stored_one if {
	every row in [
		[{"upsert": [_binding("direct", "all", [["Policy", "loose"]])]}, {_ocm_key("loose"), _ocm_key("logs")}],
		[{"upsert": [_decision("all", ["idle"])]}, set()],
		[{"delete": [_bound_in("grouped")]}, {_ocm_key("limits")}],
		[{"delete": [_decided("all-decision")]}, set()],
		[{"upsert": [testing.service("new", [])]}, {_ocm_key("limits"), _ocm_key("logs")}],
		[{"upsert": [testing.policykind(testing.timeout_kind)]}, {_ocm_key("limits"), _ocm_key("logs")}],
	] {
		_stored_at(_fleet, _cluster_key("south"), {"changes": row[0]}) == row[1]
	}
}

_links_of(obj) := declared if {
	declared := policy.declared_bindings(keys.type(obj.apiVersion, obj.kind), obj) with input as testing.changed(_fleet)
}

test_the_index_has_both_sides_of_a_binding if {
	selecting := {"path": ["selecting", concat("/", [_ocm, "Policy"])], "value": true}
	_links_of(_binding("direct", "all", [["Policy", "limits"]])).bound == {
		{"path": ["bound", _ocm_key("limits")], "value": true},
		{"path": ["bindings", concat("/", [_ocm_clusters, "Placement/fleet/all"])], "value": true},
		selecting,
	}
	_links_of(_decision("all", ["north"])).bound == {
		{"path": ["bound", concat("/", [_ocm_clusters, "Placement/fleet/all"])], "value": true},
		{"path": ["bindings", _cluster_key("north")], "value": true},
		selecting,
	}
	_links_of(_set("base", ["logs"], [])).bound == {{"path": ["bound", _ocm_key("logs")], "value": true}, selecting}
	not _links_of(_set("base", ["logs"], [])).selectors
}

test_links_of_a_binding_depend_on_the_kinds_that_it_binds if {
	binding := _binding("direct", "all", [])
	other := testing.policykind(object.union(_ocm_kind.spec, {"conditions": "Enforced"}))
	changed := policy.declared_bindings(concat("/", [_ocm, "PlacementBinding"]), binding) with input as testing.changed(_fleet_with([other]))
	changed.facts.by != _links_of(binding).facts.by
}

test_only_decisions_among_bindings_are_read_with_their_status if {
	types := policy.binding_in_status with input as testing.changed(_fleet)
	types == [concat("/", [_ocm_clusters, "PlacementDecision"])]
}

test_the_kinds_of_policies_of_changed_bindings_are_known if {
	found := policy.kinds_of_changed_bindings with input as testing.changed(_fleet)
	found == {concat("/", [_ocm, "Policy"])}
	none := policy.kinds_of_changed_bindings with input as testing.changed([])
	none == set()
}

test_a_change_of_a_binding_concerns_the_policies_above_it if {
	through := {key: found |
		some key in [_bound_in("grouped"), _decided("some-decision"), _decided("all-decision"), _ocm_key("loose"), testing.cart_route]
		found := policy.policies_bound_through({key}, set()) with input as testing.changed(_fleet)
	}
	through == {
		_bound_in("grouped"): {_ocm_key("logs")},
		_decided("some-decision"): set(),
		_decided("all-decision"): {_ocm_key("limits"), _ocm_key("logs")},
		_ocm_key("loose"): set(),
		testing.cart_route: set(),
	}
	former := policy.policies_bound_through(set(), {["bound", _ocm_key("loose")], ["bindings", _cluster_key("idle")]}) with input as testing.changed(_fleet)
	former == {_ocm_key("loose")}
}

test_a_change_of_a_binding_concerns_the_targets_below_it if {
	kind := concat("/", [_ocm, "Policy"])
	now := policy.targets_bound_through({_bound_in("grouped")}, set()) with input as testing.changed(_fleet)
	now == {[kind, _cluster_key("north")], [kind, _cluster_key("south")]}
	former := policy.targets_bound_through(set(), {["bindings", _cluster_key("idle")], ["bound", _ocm_key("loose")]}) with input as testing.changed(_fleet)
	former == {[kind, _cluster_key("idle")]}
}

# As the preset of Kubernetes.
_vap_kind := testing.policykind({
	"group": "admissionregistration.k8s.io",
	"kind": "ValidatingAdmissionPolicy",
	"class": "Direct",
	"targets": [{"group": "", "kind": "Namespace"}],
	"boundBy": [{
		"group": "admissionregistration.k8s.io",
		"kind": "ValidatingAdmissionPolicyBinding",
		"policies": "/spec/policyName",
		"targets": "/spec/matchResources/namespaceSelector",
		"selects": {"group": "", "kind": "Namespace"},
		"within": "/spec/matchConstraints/namespaceSelector",
		"overrides": [{"from": "/spec/validationActions", "to": "/validationActions"}],
	}],
	"defaultStrategy": "Additive",
	"statusShape": "Conditions",
})

_vap_api := "admissionregistration.k8s.io/v1"

_vap(spec) := testing.with_spec(testing.resource(_vap_api, "ValidatingAdmissionPolicy", "", "replicas"), spec)

_vap_key := "admissionregistration.k8s.io/ValidatingAdmissionPolicy/-/replicas"

# A binding of the policy, with these actions, of the namespaces that a selector selects; of all without one.
_vap_binding(name, actions, selectors) := testing.with_spec(
	testing.resource(_vap_api, "ValidatingAdmissionPolicyBinding", "", name),
	object.union_n(array.concat(
		[{"policyName": "replicas", "validationActions": actions}],
		[{"matchResources": {"namespaceSelector": selector}} | some selector in selectors],
	)),
)

_tiered(name, labels) := object.union(testing.resource("v1", "Namespace", "", name), {"metadata": {"labels": labels}})

_gold := {"matchLabels": {"tier": "gold"}}

_any_tier := {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}

_tiers := [_vap_kind, _tiered("vault", {"tier": "gold"}), _tiered("stand", {"tier": "silver"}), _tiered("yard", {})]

# The actions of the policy in each of the namespaces where it is in effect.
_acting(spec, bindings) := {keys.parse(ref.key).name: actions |
	world := {"changes": {"upsert": array.flatten([_tiers, bindings, _vap(spec)])}}
	refs := policy.bound_refs(_vap_key) with input as world
	some ref in refs
	bound := policy.policies_bound_to(ref.key) with input as world
	_vap_key in bound
	spec_there := policy.spec_at(_vap_key, ref.key) with input as world
	actions := spec_there.validationActions
}

# T10
test_a_binding_selects_namespaces_by_their_labels if {
	_acting({}, [_vap_binding("a", ["Deny"], [_gold])]) == {"vault": ["Deny"]}
	_acting({}, [_vap_binding("a", ["Deny"], [_any_tier])]) == {"vault": ["Deny"], "stand": ["Deny"]}
	_acting({}, []) == {}
}

# T10
test_a_binding_without_a_selector_selects_every_namespace if {
	_acting({}, [_vap_binding("a", ["Audit"], [])]) == {"vault": ["Audit"], "stand": ["Audit"], "yard": ["Audit"]}
}

# T10
test_a_policy_limits_the_namespaces_of_its_bindings if {
	_acting({"matchConstraints": {"namespaceSelector": _any_tier}}, [_vap_binding("a", ["Audit"], [])]) == {"vault": ["Audit"], "stand": ["Audit"]}
}

# T10
test_the_actions_of_several_bindings_add_up_where_they_meet if {
	bindings := [_vap_binding("a", ["Warn", "Deny"], [_gold]), _vap_binding("b", ["Audit", "Warn"], [_any_tier])]
	_acting({}, bindings) == {"vault": ["Audit", "Deny", "Warn"], "stand": ["Audit", "Warn"]}
}

test_stored_selections_of_bindings_count_until_a_change_replaces_them if {
	objects := array.concat(_tiers, [_vap({}), _vap_binding("a", ["Deny"], [_gold])])
	every row in [
		["vault", {}, {_vap_key}],
		["stand", {}, set()],
		["vault", {"changes": {"upsert": [_vap_binding("a", ["Deny"], [{"matchLabels": {"tier": "silver"}}])]}}, set()],
		["stand", {"changes": {"upsert": [_vap_binding("a", ["Deny"], [{"matchLabels": {"tier": "silver"}}])]}}, {_vap_key}],
		["vault", {"changes": {"delete": ["admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding/-/a"]}}, set()],
		["vault", {"changes": {"upsert": [testing.service("new", [])]}}, {_vap_key}],
	] {
		[namespace, query, wanted] := row
		_stored_at(objects, concat("/", ["core/Namespace/-", namespace]), query) == wanted
	}
}

# A kind whose policies an object binds to namespaces that it lists.
_scope_kind := testing.policykind({
	"group": "acme.io",
	"kind": "CurfewPolicy",
	"class": "Direct",
	"targets": [{"group": "", "kind": "Namespace"}],
	"boundBy": [{
		"group": "acme.io",
		"kind": "Curfew",
		"policies": "/spec/policy",
		"targets": "/spec/namespaces",
		"targetsKind": {"group": "", "kind": "Namespace", "scope": "Cluster"},
	}],
	"defaultStrategy": "Additive",
})

test_a_binding_may_list_the_names_of_its_targets if {
	curfew := testing.with_spec(testing.resource("acme.io/v1", "CurfewPolicy", "shop", "night"), {"from": "22:00"})
	binding := testing.with_spec(testing.resource("acme.io/v1", "Curfew", "shop", "night"), {"policy": "night", "namespaces": ["shop", "infra"]})
	refs := policy.bound_refs("acme.io/CurfewPolicy/shop/night") with input as testing.changed([_scope_kind, curfew, binding])
	[ref.key | some ref in refs] == ["core/Namespace/-/infra", "core/Namespace/-/shop"]
}
