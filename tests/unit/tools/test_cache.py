from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from bridge.opa.executable import OPA, ToolError, cache_root, locked, new_folder, tool_folder


def test_a_folder_appears_complete(tmp_path: Path) -> None:
    target = tool_folder(OPA)
    with new_folder(target) as temporary:
        (temporary / "opa").write_text("half")
        assert not target.exists()
        (temporary / "opa").write_text("whole")
    assert (target / "opa").read_text() == "whole"
    assert list((cache_root() / "tmp").iterdir()) == []


def _fail_halfway(target: Path) -> None:
    with new_folder(target) as temporary:
        (temporary / "opa").write_text("half")
        raise RuntimeError


def test_a_folder_that_fails_never_appears() -> None:
    target = tool_folder(OPA)
    with pytest.raises(RuntimeError):
        _fail_halfway(target)
    assert not target.exists()
    assert list((cache_root() / "tmp").iterdir()) == []


def test_what_a_killed_process_left_is_swept_after_a_day() -> None:
    waiting_room = cache_root() / "tmp"
    for name, age in (("old", 25 * 3600), ("young", 60)):
        (waiting_room / name).mkdir(parents=True)
        os.utime(waiting_room / name, (time.time() - age, time.time() - age))
    with new_folder(tool_folder(OPA)):
        pass
    assert [entry.name for entry in waiting_room.iterdir()] == ["young"]


def test_a_cache_that_cannot_be_made_is_an_error_that_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRIDGE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ToolError, match="set BRIDGE_CACHE"), locked("opa"):
        pass


def test_the_cache_is_in_the_usual_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRIDGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "policy-bridge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "home" / ".cache" / "policy-bridge"


def _work_alone(journal: str) -> None:
    with locked("opa-1.22.0"):
        for mark in ("begin", "end"):
            with Path(journal).open("a", encoding="utf-8") as file:
                file.write(f"{mark}\n")
            time.sleep(0.05)


def test_two_processes_that_install_the_same_take_turns(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_work_alone, args=(str(tmp_path / "journal"),)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
    assert (tmp_path / "journal").read_text().split() == ["begin", "end"] * 3
