"""A machine with nothing on it, to which a test adds what it needs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hack.tools import building

MakeExecutable = Callable[[Path, str], Path]


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH, an empty cache, and no variable that names a tool; returns the one folder on PATH."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("BRIDGE_CACHE", str(tmp_path / "cache"))
    for variable in ("BRIDGE_OPA", "BRIDGE_PROMTOOL", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("BRIDGE_DOWNLOADS", "never")
    monkeypatch.setattr(building, "_USUAL_PLACES", ())
    return folder


@pytest.fixture
def make_executable() -> MakeExecutable:
    """Writes a script that answers every call with one line."""

    def make(path: Path, answer: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{answer}'\n")
        path.chmod(0o755)
        return path

    return make
