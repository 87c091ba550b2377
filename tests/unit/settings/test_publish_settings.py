from pathlib import Path

import pytest

from bridge.model.keys import Key
from bridge.model.types import GATEWAY_API
from bridge.model.views import View
from bridge.settings.loading import SettingsError, load_settings


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
    ("text", "said"),
    [
        ("publish: [everything]", "publish: 'everything' is not a view: write all, GatewayClass/NAME, "),
        ("publish: [all, all]", "two views have the name all"),
        ("publish: [{name: a}]", "publish: a needs one of gateway, gatewayClass and namespaces"),
        ("publish: [{name: a, gateway: b/c, gatewayClass: d}]", "publish: a needs one of"),
        ("publish: [{name: a, gateway: b}]", "'b' is not a Gateway: write NAMESPACE/NAME"),
        ("publish: [{name: A b, gatewayClass: c}]", "'A b' is not a name of a view"),
        ("publish: [{name: a, gatewayClass: c, types: [Pod]}]", "'Pod' is not <group>/<Kind>"),
        ("publish: [{name: a, namespaces: {labels: {}}}]", "there is no 'labels'"),
        (
            "publish: [{name: a, namespaces: {matchExpressions: [{key: a, operator: Is}]}}]",
            "'Is' is none of In, NotIn, Exists, DoesNotExist",
        ),
        ("publish: [cluster]", "the view cluster needs the setting cluster, which names it"),
        ("{publish: [cluster, cluster], cluster: a}", "two views have the name cluster.a"),
        ("publish_to: [s3://fleet/east]", "publish_to needs publish, which names the views"),
        ("{publish: [all], publish_to: [ftp://a/b]}", "'ftp://a/b' is not a destination: write s3://BUCKET/PREFIX, or"),
        ("{publish: [all], publish_to: [s3://fleet]}", "'s3://fleet' is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a%20b']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a/../b']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://user:secret@fleet/a']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a?endpoint=http://10.0.0.1']}", "the endpoint must be https"),
        ("{publish: [all], publish_to: [oci://registry.example/A]}", "is not a destination"),
        ("{publish: [all], publish_to: ['oci://registry.example/a:b']}", "is not a destination"),
        ("{publish: [all], publish_to: [s3://fleet/a, s3://fleet/a/]}", "s3://fleet/a/ is listed twice"),
        (
            f"{{publish: [{{name: {'a' * 129}, gatewayClass: a}}], publish_to: [oci://a.example/b]}}",
            "a tag has at most 128 characters",
        ),
        ("cluster: A/b", "cluster 'A/b' is not a name of lowercase letters, digits and -"),
        ("publish: [{name: a, gatewayClass: c, content: all}]", "'all' is none of objects, effective"),
        ("publish_cert_file: a", "publish_cert_file and publish_key_file go together"),
    ],
)
def test_what_is_invalid_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=said):
        load_settings(file, environ={})
