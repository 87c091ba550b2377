from __future__ import annotations

import json
from pathlib import Path

from hack.tools.building import find_go, link_flags, write_module
from hack.tools.catalog import TOOLS

GO_MOD = """\
module k8s.io/kubernetes

require k8s.io/api v0.0.0

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
	example.com/fork => example.com/other v1.0.0
)

replace k8s.io/metrics => ./staging/src/k8s.io/metrics
"""


def test_staging_modules_are_replaced_by_their_published_versions(bare_machine: Path, tmp_path: Path) -> None:
    """Everything that k8s.io/kubernetes takes from a folder of its own, and nothing else."""
    (tmp_path / "its.mod").write_text(GO_MOD)
    report = json.dumps({"GoMod": str(tmp_path / "its.mod"), "Zip": "unused"})
    go = bare_machine / "go"
    go.write_text(f"#!/bin/sh\necho '{report}'\n")
    go.chmod(0o755)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    write_module(find_go(), TOOLS["kube-apiserver"].go, workspace)
    assert (workspace / "go.mod").read_text().splitlines() == [
        "module build",
        "",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/client-go => k8s.io/client-go v0.36.3",
        "replace k8s.io/metrics => k8s.io/metrics v0.36.3",
    ]


def test_the_version_is_stamped_where_the_tool_prints_it_from() -> None:
    flags = link_flags(TOOLS["kube-apiserver"].go)
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags


def test_what_a_tool_replaces_is_replaced_where_it_is_built(tmp_path: Path) -> None:
    write_module(Path("go"), TOOLS["promtool"].go, tmp_path)
    assert (tmp_path / "go.mod").read_text().splitlines() == [
        "module build",
        "",
        "require github.com/prometheus/prometheus v0.313.5",
        "replace cloud.google.com/go => cloud.google.com/go v0.123.0",
    ]
    assert "version.Version=3.13.5" in link_flags(TOOLS["promtool"].go)
