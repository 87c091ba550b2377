"""What settings of placement, views and the webhook mean."""

from pathlib import Path

import pytest

from bridge.model.keys import Key
from bridge.model.placement_decision import Placed
from bridge.model.types import GATEWAY_API
from bridge.model.views import View
from bridge.settings.loading import load_settings

DEFAULT = ("io", "k8s", "federation", "admission")


def test_a_type_alone_is_only_reported() -> None:
    settings = load_settings(environ={"BRIDGE_PLACEMENT": "apps/Deployment,apps/StatefulSet"})
    assert settings.placed_types == (
        Placed("apps/Deployment", "Report", DEFAULT),
        Placed("apps/StatefulSet", "Report", DEFAULT),
    )


def test_an_entry_has_a_mode_and_may_have_a_decision_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "decision: data.a.b\n"
        "placement:\n"
        "- {type: apps/Deployment, mode: Write}\n"
        "- {type: core/Pod, mode: Off}\n"
        "- {type: core/Node, mode: 'Off'}\n"
        "- {type: batch/Job, decision: c/d}\n"
    )
    assert load_settings(file, environ={}).placed_types == (
        Placed("apps/Deployment", "Write", ("a", "b")),
        Placed("batch/Job", "Report", ("c", "d")),
    )


def test_a_file_has_views_in_both_forms(tmp_path: Path) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "publish:\n"
        "- all\n"
        "- {name: shop, gateway: infra/public, types: [core/ConfigMap]}\n"
        "- {name: inner, gatewayClass: internal, content: effective}\n"
        "- name: red\n"
        "  namespaces: {matchLabels: {team: red}, matchExpressions: [{key: a, operator: Exists}]}\n"
    )
    assert load_settings(file, environ={}).views == (
        View("all"),
        View("shop", Key(GATEWAY_API, "Gateway", "infra", "public"), types=("core/ConfigMap",)),
        View("inner", Key(GATEWAY_API, "GatewayClass", "-", "internal"), has_answers=True),
        View(
            "red",
            namespaces={
                "matchLabels": {"team": "red"},
                "matchExpressions": ({"key": "a", "operator": "Exists", "values": ()},),
            },
        ),
    )


def test_views_of_several_clusters_have_data_or_rego(tmp_path: Path) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text("cluster: east\npublish: [all, cluster, federation, {name: federation.b, gatewayClass: c}]\n")
    views = load_settings(file, environ={}).views
    assert [(view.name, view.cluster, view.has_data) for view in views] == [
        ("all", "", True),
        ("cluster.east", "east", True),
        ("federation", "", False),
        ("federation.b", "", True),
    ]


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        (None, ("", "io/k8s/federation/admission")),
        ("", ("", "")),
        ("data.acme.placement", ("", "acme/placement")),
        ("https://opa.infra:8181/v1/data/acme/placement", ("https://opa.infra:8181", "acme/placement")),
        ("http://opa/behind/v1/data/acme", ("http://opa/behind", "acme")),
    ],
)
def test_the_webhook_asks_the_common_decision_another_one_another_opa_or_none(
    decision: str | None, found: tuple[str, str]
) -> None:
    environ = {} if decision is None else {"BRIDGE_WEBHOOK_DECISION": decision}
    assert load_settings(None, {}, environ).admission_decision == found


def test_the_certificate_of_the_webhook_has_the_names_that_the_api_server_uses() -> None:
    service = load_settings(None, {"webhook_service": "infra/bridge"}, {})
    assert service.webhook_host_names == ("bridge.infra.svc", "bridge.infra.svc.cluster.local")
    url = load_settings(None, {"webhook_url": "https://10.0.0.7:8443/admission"}, {})
    assert url.webhook_host_names == ("10.0.0.7",)
