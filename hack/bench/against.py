"""Measure another commit in the same run: each part there, then here, so that both meet the same machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hack.bench.figures import progress

_HERE = Path(__file__).resolve().parents[2]
# What tells two figures of one name apart; other properties are results.
_CONDITIONS = ("part", "where", "routes", "policies", "clients", "others", "kinds", "objects")
_ASIDE = {None, "machine", "part_took"}  # no figures of the bridge


def compare(commit: str, parts: Iterable[str], routes: int) -> None:
    """Print each figure of these parts at `commit` and here, with their ratio; processor time where it was measured.

    Raises CalledProcessError for a commit that does not exist.
    """
    with _checkout(commit) as there:
        for part in parts:
            before, now = (_figures(folder, part, routes) for folder in (there, _HERE))
            for name in sorted(before.keys() & now.keys()):
                ratio = now[name] / before[name] if before[name] else 0.0
                print(f"{name:70} {before[name]:10.4g} {now[name]:10.4g} {ratio:7.2f}", flush=True)


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "there"
        git = ["git", "-C", str(_HERE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(there), commit], check=True)
        try:
            yield there
        finally:
            subprocess.run([*git, "remove", "--force", str(there)], check=True)


def _figures(folder: Path, part: str, routes: int) -> dict[str, float]:
    """Run a part of the checkout in `folder`, with this environment's packages; a part that fails has few figures."""
    progress(f"part {part} of {folder}")
    command = [sys.executable, "-m", "hack.bench", "--only", part, "--routes", str(routes)]
    # Before the packages of the environment, among which is this checkout.
    answer = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = (json.loads(line) for line in answer.stdout.splitlines())
    return {_name(one): float(one.get("cpu", one["value"])) for one in found if one.get("figure") not in _ASIDE}


def _name(figure: dict[str, Any]) -> str:
    given = [f"{name}={figure[name]}" for name in _CONDITIONS if name in figure]
    return " ".join([figure["figure"], *given, "(s of processor time)" if "cpu" in figure else figure["unit"]])
