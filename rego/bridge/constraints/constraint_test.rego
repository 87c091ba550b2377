package bridge.constraints_test

import data.bridge.constraints
import data.bridge.testing

_team(name) := {"namespaceSelector": {"matchLabels": {"team": name}}}

_entry(name, parameters) := {"match": _team(name), "parameters": parameters}

_chosen(spec, team) := found if {
	namespace := _labelled(testing.resource("v1", "Namespace", "", "shop"), {"team": team})
	found := constraints.selection(spec, constraints.subject(_deployment)) with data.objects as testing.stored([namespace])
}

_spec(entries) := {"parameters": {"limit": 16}, "parameterSelection": entries}

test_the_first_entry_that_matches_is_merged_over_the_parameters if {
	spec := _spec([_entry("large", {"limit": 32}), _entry("larger", {"limit": 64}), {"parameters": {"limit": 8}}])
	_chosen(spec, "larger") == {"parameters": {"limit": 64}}
	_chosen(spec, "other") == {"parameters": {"limit": 8}}
}

test_parameters_are_set_where_there_are_no_defaults if {
	_chosen({"parameterSelection": [_entry("large", {"limit": 32})]}, "large") == {"parameters": {"limit": 32}}
}

test_without_a_match_the_parameters_stay_as_they_are if {
	_chosen(_spec([_entry("large", {"limit": 32})]), "other") == {"parameters": {"limit": 16}}
	_chosen({}, "other") == {"parameters": {}}
}

test_match_any_merges_all_that_match_in_their_order if {
	spec := object.union(
		_spec([_entry("large", {"limit": 32, "a": 1}), _entry("other", {"a": 3}), {"parameters": {"a": 2}}]),
		{"parameterSelectionBehavior": "MatchAny"},
	)
	_chosen(spec, "large") == {"parameters": {"limit": 32, "a": 2}}
	_chosen(spec, "none") == {"parameters": {"limit": 16, "a": 2}}
}

test_enforcement_without_a_match_is_reported if {
	every said in ["allow", "warn", "deny"] {
		spec := object.union(_spec([_entry("large", {})]), {"onParameterSelectionNoMatch": said})
		_chosen(spec, "other") == {"unselected": said}
		_chosen(spec, "large") == {"parameters": {"limit": 16}}
	}
}

_labelled(obj, labels) := object.union(obj, {"metadata": {"labels": labels}})

_deployment := _labelled(testing.resource("apps/v1", "Deployment", "shop", "cart"), {"app": "cart"})

_namespace := _labelled(testing.resource("v1", "Namespace", "", "shop"), {"team": "shop", "kubernetes.io/metadata.name": "shop"})

_class := testing.resource("gateway.networking.k8s.io/v1", "GatewayClass", "", "example")

_held := testing.stored([_deployment, _namespace, _class])

_selected(match, obj) if {
	constraints.matches(match, constraints.subject(obj)) with data.objects as _held
}

test_an_empty_match_selects_everything if {
	_selected({}, _deployment)
	_selected({}, _namespace)
	_selected({}, _class)
}

test_kinds_are_pairs_of_groups_and_kinds if {
	_selected({"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}, _deployment)
	not _selected({"kinds": [{"apiGroups": [""], "kinds": ["Deployment"]}]}, _deployment)
	not _selected({"kinds": [{"apiGroups": ["apps"], "kinds": ["DaemonSet"]}]}, _deployment)
	_selected({"kinds": [{"apiGroups": [""], "kinds": ["Namespace"]}]}, _namespace)
}

test_a_star_or_nothing_stands_for_every_group_or_kind if {
	_selected({"kinds": [{"apiGroups": ["*"], "kinds": ["Deployment"]}]}, _deployment)
	_selected({"kinds": [{"apiGroups": ["apps"], "kinds": ["*"]}]}, _deployment)
	_selected({"kinds": [{"kinds": ["Deployment"]}]}, _deployment)
	_selected({"kinds": [{"apiGroups": ["apps"]}]}, _deployment)
}

test_one_of_several_kinds_is_enough if {
	_selected({"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}, {"apiGroups": ["apps"], "kinds": ["Deployment"]}]}, _deployment)
}

test_a_namespace_is_named_whole_or_with_a_star_at_either_end if {
	_selected({"namespaces": ["blog", "shop"]}, _deployment)
	_selected({"namespaces": ["sh*"]}, _deployment)
	_selected({"namespaces": ["*op"]}, _deployment)
	_selected({"namespaces": ["*ho*"]}, _deployment)
	_selected({"namespaces": ["*"]}, _deployment)
	not _selected({"namespaces": ["sho"]}, _deployment)
	not _selected({"namespaces": ["ho*"]}, _deployment)
	not _selected({"namespaces": ["*ho"]}, _deployment)
}

test_excluded_namespaces_are_left_out if {
	not _selected({"excludedNamespaces": ["sh*"]}, _deployment)
	_selected({"excludedNamespaces": ["blog"]}, _deployment)
	not _selected({"namespaces": ["shop"], "excludedNamespaces": ["shop"]}, _deployment)
}

test_a_namespace_counts_as_within_itself if {
	_selected({"namespaces": ["shop"]}, _namespace)
	not _selected({"namespaces": ["blog"]}, _namespace)
	not _selected({"excludedNamespaces": ["shop"]}, _namespace)
}

test_cluster_scoped_objects_are_left_out_by_no_namespace if {
	_selected({"namespaces": ["shop"]}, _class)
	_selected({"excludedNamespaces": ["*"]}, _class)
	_selected({"namespaceSelector": {"matchLabels": {"team": "blog"}}}, _class)
}

test_labels_of_the_object if {
	_selected({"labelSelector": {"matchLabels": {"app": "cart"}}}, _deployment)
	not _selected({"labelSelector": {"matchLabels": {"app": "stock"}}}, _deployment)
	not _selected({"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}, _class)
	_selected({"labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["cart"]}]}}, _class)
}

test_labels_of_the_namespace if {
	_selected({"namespaceSelector": {"matchLabels": {"team": "shop"}}}, _deployment)
	not _selected({"namespaceSelector": {"matchLabels": {"team": "blog"}}}, _deployment)
	_selected({"namespaceSelector": {"matchLabels": {"team": "shop"}}}, _namespace)
	not _selected({"namespaceSelector": {"matchLabels": {"team": "blog"}}}, _namespace)
}

test_a_namespace_that_is_missing_has_its_name_as_a_label if {
	selector := {"matchLabels": {"kubernetes.io/metadata.name": "gone"}}
	_selected({"namespaceSelector": selector}, testing.resource("apps/v1", "Deployment", "gone", "cart"))
}

test_a_name_is_whole_or_with_a_star if {
	_selected({"name": "cart"}, _deployment)
	_selected({"name": "ca*"}, _deployment)
	not _selected({"name": "ca"}, _deployment)
}

test_an_object_that_is_yet_to_be_named_goes_by_the_beginning_of_its_name if {
	obj := {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "generateName": "cart-"}}
	_selected({"name": "cart-*"}, obj)
}

test_the_scope_of_objects if {
	_selected({"scope": "Namespaced"}, _deployment)
	not _selected({"scope": "Cluster"}, _deployment)
	_selected({"scope": "Cluster"}, _namespace)
	_selected({"scope": "*"}, _class)
}

test_labels_that_are_no_object_are_none if {
	not _selected({"labelSelector": {"matchLabels": {"a": "b"}}}, _labelled(_class, "a=b"))
}

test_maps_merge_and_scalars_replace if {
	constraints._merge_parameters([{"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3, "z": 4}}]) == {"a": {"x": 1, "y": 3, "z": 4}, "b": 1}
}

test_a_list_appends_items_that_the_default_lacks if {
	constraints._merge_parameters([{"l": ["a", "b"]}, {"l": ["b", "c", "c"]}]) == {"l": ["a", "b", "c"]}
}

test_a_list_within_maps_appends if {
	constraints._merge_parameters([{"m": {"l": [1]}}, {"m": {"l": [2]}}, {"m": {"l": [1, 3]}}]) == {"m": {"l": [1, 2, 3]}}
}

test_the_default_stays_as_it_is if {
	constraints._merge_parameters([{"l": ["a", "a"]}, {"l": ["b"]}]) == {"l": ["a", "a", "b"]}
}

test_a_list_where_there_was_none_is_the_list if {
	constraints._merge_parameters([{}, {"l": ["b", "b"]}]) == {"l": ["b", "b"]}
}

test_items_of_a_list_are_values if {
	constraints._merge_parameters([{"l": [{"m": [1]}]}, {"l": [{"m": [2]}]}]) == {"l": [{"m": [1]}, {"m": [2]}]}
}

test_a_value_of_another_shape_replaces if {
	constraints._merge_parameters([{"a": [1], "b": {"x": 1}, "c": 1}, {"a": 5, "b": [1], "c": {"x": 1}}]) == {"a": 5, "b": [1], "c": {"x": 1}}
}

test_a_null_between_two_lists_takes_the_first_away if {
	constraints._merge_parameters([{"l": [1]}, {"l": null}, {"l": [2]}]) == {"l": [2]}
}

test_a_scalar_in_place_of_a_map_takes_its_lists_away if {
	constraints._merge_parameters([{"m": {"l": [1]}}, {"m": 5}, {"m": {"l": [2]}}]) == {"m": {"l": [2]}}
}

test_one_layer_is_itself if {
	constraints._merge_parameters([{"l": [1, 1]}]) == {"l": [1, 1]}
}

test_a_list_in_the_middle_is_kept_by_specs_that_do_not_name_it if {
	constraints._merge_parameters([{"l": [1]}, {"l": [2]}, {"other": true}]) == {"l": [1, 2], "other": true}
}

test_names_with_slashes_and_tildes if {
	constraints._merge_parameters([{"a/b~c": {"": [1]}}, {"a/b~c": {"": [2]}}]) == {"a/b~c": {"": [1, 2]}}
}
