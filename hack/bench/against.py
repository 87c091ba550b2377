"""Measure another commit in the same run: each part there, here, here, and there, so that both meet the same machine.

Processor time is compared where a figure has it, otherwise its value: then a busy machine shows in the ratio.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from hack.bench.figures import progress

_HERE = Path(__file__).resolve().parents[2]
# What tells two figures of one name apart; other properties are results.
_CONDITIONS = (
    "part",
    "where",
    "routes",
    "policies",
    "clients",
    "others",
    "kinds",
    "objects",
    "shape",
    "judged",
    "leaves",
    "beside",
)
_ASIDE = {None, "machine", "part_took"}  # no figures of the bridge


def compare(commit: str, parts: Iterable[str], routes: int) -> int:
    """Print each figure of these parts at `commit` and here, with their ratio; return 1 if a part failed, otherwise 0.

    Raises CalledProcessError for a commit that does not exist.
    """
    failed = False
    with _checkout(commit) as there:
        for part in parts:
            runs = [(folder, *_figures(folder, part, routes)) for folder in (there, _HERE, _HERE, there)]
            failed |= any(code for _, code, _ in runs)
            before, now = ([figures for folder, _, figures in runs if folder == place] for place in (there, _HERE))
            for row in rows(before, now):
                print(row, flush=True)
    return 1 if failed else 0


def rows(before: Sequence[Mapping[str, float]], now: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Yield a line for each figure: its name, the means of both sides, and their ratio; `-` for a missing one."""
    for name in sorted({name for figures in (*before, *now) for name in figures}):
        means = [
            mean(values) if (values := [figures[name] for figures in side if name in figures]) else None
            for side in (before, now)
        ]
        ratio = means[1] / means[0] if means[0] and means[1] is not None else None
        cells = ["-" if value is None else f"{value:.4g}" for value in means]
        yield f"{name:78} {cells[0]:>10} {cells[1]:>10} {'-' if ratio is None else f'{ratio:.2f}':>7}"


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


def _figures(folder: Path, part: str, routes: int) -> tuple[int, dict[str, float]]:
    """Run a part of the checkout in `folder`, with this environment's packages; return its exit code and figures."""
    progress(f"part {part} of {folder}")
    command = [sys.executable, "-m", "hack.bench", "--only", part, "--routes", str(routes)]
    # Before the packages of the environment, among which is this checkout.
    environment = os.environ | {"PYTHONPATH": str(folder)}
    answer = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        progress(f"part {part} of {folder} failed: exit code {answer.returncode}")
    found = (json.loads(line) for line in answer.stdout.splitlines())
    return answer.returncode, {
        name_of(one): float(one.get("cpu", one["value"])) for one in found if one.get("figure") not in _ASIDE
    }


def name_of(figure: Mapping[str, Any]) -> str:
    """Return a figure's name with its conditions and unit."""
    given = [f"{name}={figure[name]}" for name in _CONDITIONS if name in figure]
    return " ".join([figure["figure"], *given, "(s of processor time)" if "cpu" in figure else figure["unit"]])
