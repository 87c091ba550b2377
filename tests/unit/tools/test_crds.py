from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from bridge.opa.executable import ToolError
from hack.tools import ensure_crds, find_crds
from hack.tools.crds import digest_of


def test_the_digest_does_not_depend_on_the_order_of_files() -> None:
    assert digest_of({"a": b"1", "b": b"2"}) == digest_of({"b": b"2", "a": b"1"})
    assert digest_of({"a": b"1", "b": b"2"}) != digest_of({"a": b"2", "b": b"1"})


def test_crds_with_another_digest_are_refused(
    bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that was tampered with, or another version of it, never gets into the cache."""
    monkeypatch.setenv("BRIDGE_DOWNLOADS", "never")
    archive = tmp_path / "module.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("m@v1/config/crd/standard/gateway.networking.k8s.io_gateways.yaml", b"kind: Tampered")
    report = json.dumps({"GoMod": "unused", "Zip": str(archive)})
    go = bare_machine / "go"
    go.write_text(f"#!/bin/sh\necho '{report}'\n")
    go.chmod(0o755)
    with pytest.raises(ToolError, match="have the digest"):
        ensure_crds()
    assert find_crds() is None
