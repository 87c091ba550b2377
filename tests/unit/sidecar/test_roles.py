"""Access as roles."""

from bridge.model.types import Access
from bridge.sidecar.permissions import in_namespace, role_objects, rules

READ = ("get", "list")


def test_rights_of_one_form_stand_in_one_rule() -> None:
    found = rules([Access("", "apps", "deployments", READ), Access("", "apps", "statefulsets", READ)])
    assert found == {
        "": [{"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["get", "list"]}]
    }


def test_verbs_for_several_reasons_are_joined() -> None:
    found = rules(
        [Access("", "", "configmaps", READ, why="read"), Access("", "", "configmaps", ("patch",), why="reported")]
    )
    assert found[""][0]["verbs"] == ["get", "list", "patch"]


def test_names_bind_only_their_own_verbs() -> None:
    found = rules([Access("infra", "", "secrets", ("create",)), Access("infra", "", "secrets", ("get",), ("tls",))])
    assert found["infra"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get"]},
    ]


def test_a_namespace_has_a_role_and_the_cluster_a_cluster_role_each_bound_to_the_account() -> None:
    objects = role_objects([Access("", "", "services", READ), Access("shop", "", "pods", READ)], "pb", ("infra", "me"))
    assert [(one["kind"], one["metadata"].get("namespace")) for one in objects] == [
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("Role", "shop"),
        ("RoleBinding", "shop"),
    ]
    assert objects[3]["subjects"] == [{"kind": "ServiceAccount", "namespace": "infra", "name": "me"}]


def test_a_role_of_one_namespace_has_nothing_that_is_in_no_namespace() -> None:
    whole = [
        Access("", "", "namespaces", READ),
        Access("", "policy.networking.k8s.io", "clusternetworkpolicies", READ),
        Access("", "policy.networking.k8s.io", "adminnetworkpolicies", READ),
        Access("", "policy.networking.k8s.io", "baselineadminnetworkpolicies", READ),
        Access("", "cluster.open-cluster-management.io", "managedclusters", READ),
        Access("", "admissionregistration.k8s.io", "validatingadmissionpolicies", READ),
    ]
    assert in_namespace([*whole, Access("", "", "services", READ)], "shop") == [Access("shop", "", "services", READ)]
