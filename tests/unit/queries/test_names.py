"""Names of objects in output."""

from bridge.queries.names import identity


def test_the_identity_of_an_object_has_the_fields_that_templates_name() -> None:
    metadata = {
        "name": "cart",
        "namespace": "shop",
        "labels": {"app": "cart"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {**metadata, "uid": "1"}, "spec": {}}
    assert identity(obj) == {"apiVersion": "v1", "kind": "Service", "metadata": metadata}


def test_the_identity_of_an_object_from_a_folder_lacks_the_fields_of_a_cluster() -> None:
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert identity(obj) == obj
    assert identity({}) == {}
