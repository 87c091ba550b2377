from __future__ import annotations

import pytest

from bridge.opa.executable import Version, parse_version


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("Version: 1.22.0\nBuild Commit: \nGo Version: go1.26.8\n", Version(1, 22, 0)),
        ("etcd Version: 3.7.3\nGit SHA: Not provided\n", Version(3, 7, 3)),
        ("Kubernetes v1.36.3", Version(1, 36, 3)),
        ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", Version(1, 32, 4)),
        ("v1.36.3-gke.1", Version(1, 36, 3)),
        ("v1.37.0-rc.1", Version(1, 37, 0, released=0)),
        ("1.22.0-dev", Version(1, 22, 0, released=0)),
    ],
)
def test_a_version_is_read_from_what_a_tool_prints(printed: str, version: Version) -> None:
    assert parse_version(printed) == version


@pytest.mark.parametrize("printed", ["", "no version here", "1.2", "127.0.0.1 refused"])
def test_a_text_without_a_version_gives_none(printed: str) -> None:
    """An address such as 127.0.0.1 is no version."""
    assert parse_version(printed) is None


def test_versions_are_ordered_by_number_and_a_candidate_comes_before_its_release() -> None:
    texts = ["1.9.0", "1.10.0-rc.1", "1.10.0", "1.10.1", "2.0.0"]
    assert [parse_version(text) for text in texts] == sorted(
        v for text in reversed(texts) if (v := parse_version(text))
    )
