from typing import Any

from bridge.kube.discovery import read_aggregated
from bridge.model.types import ResourceType

READ = ["get", "list", "watch"]


def resource(plural: str, kind: str, *, scope: str = "Namespaced", verbs: list[str] | None = None) -> dict[str, Any]:
    shape = {"group": "", "version": "", "kind": kind}
    return {"resource": plural, "responseKind": shape, "scope": scope, "verbs": READ if verbs is None else verbs}


def group(name: str, **versions: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [{"version": version, **content} for version, content in versions.items()],
    }


def test_the_first_version_that_has_a_kind_is_taken() -> None:
    answer = {
        "items": [
            group(
                "example.com",
                v1={"resources": [resource("things", "Thing")]},
                v1beta1={"resources": [resource("things", "Thing"), resource("others", "Other", scope="Cluster")]},
            )
        ]
    }
    types, unknown = read_aggregated(answer)
    assert types == {
        "example.com/Thing": ResourceType("example.com", "v1", "Thing", "things", namespaced=True),
        "example.com/Other": ResourceType("example.com", "v1beta1", "Other", "others", namespaced=False),
    }
    assert unknown == set()


def test_the_group_without_a_name_is_core() -> None:
    types, _ = read_aggregated({"items": [group("", v1={"resources": [resource("services", "Service")]})]})
    assert types["core/Service"].path == "/api/v1/services"


def test_a_type_that_cannot_be_watched_is_left_out() -> None:
    answer = {"items": [group("example.com", v1={"resources": [resource("reviews", "Review", verbs=["create"])]})]}
    assert read_aggregated(answer) == ({}, set())


def test_a_group_of_an_unavailable_server_is_unknown_and_not_gone() -> None:
    answer = {"items": [group("metrics.k8s.io", v1={"freshness": "Stale"})]}
    assert read_aggregated(answer) == ({}, {"metrics.k8s.io"})
