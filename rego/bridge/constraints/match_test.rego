package bridge.constraints_test

import data.bridge.constraints
import data.bridge.testing

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

test_what_is_in_no_namespace_is_left_out_by_none if {
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
