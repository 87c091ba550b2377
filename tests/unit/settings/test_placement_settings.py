from pathlib import Path

import pytest

from bridge.model.placement import Placed, decision_path
from bridge.settings.loading import SettingsError, load_settings

DEFAULT = ("io", "k8s", "federation", "admission")


@pytest.mark.parametrize(
    "text",
    ["/v1/data/a/b", "a/b", "/a/b", "data.a.b", "a.b", "data/a/b"],
)
def test_a_decision_may_be_spelt_as_a_url_or_as_rego(text: str) -> None:
    assert decision_path(text) == ("a", "b")


@pytest.mark.parametrize("text", ["", "/v1/data", "data..a", "a//b", "a b", 'a"b'])
def test_a_path_without_a_document_is_not_a_decision(text: str) -> None:
    with pytest.raises(ValueError, match="is not a decision"):
        decision_path(text)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("placement: [Deployment]", "is not <group>/<Kind>"),
        ("placement: [apps/Deployment, apps/Deployment]", "placement: apps/Deployment is listed twice"),
        (
            "placement: [{type: apps/Deployment, mode: write}]",
            "placement.mode: 'write' is none of Off, Report, Write",
        ),
        ("placement: [{type: apps/Deployment, mode: On}]", "one of Off, Report, Write"),
        ("decision: 'a b'", "is not a decision"),
        ("placement_writes_per_second: 0", "must be above 0"),
        ("placement_most_patches: 0", "must be above 0"),
    ],
)
def test_what_is_invalid_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=said):
        load_settings(file, environ={})
