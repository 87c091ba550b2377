"""What can be known of the Containerfile without a container runtime."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from bridge import __version__

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text()


class Step(NamedTuple):
    """One instruction: `COPY`, and what follows it."""

    name: str
    rest: str


def _steps(text: str) -> list[Step]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Step(*line.split(" ", 1)) for line in joined.splitlines()]


STEPS = _steps(TEXT)
SECOND = [index for index, step in enumerate(STEPS) if step.name == "FROM"][1]
BUILD, RUN = STEPS[:SECOND], STEPS[SECOND:]
COPIED = [
    source
    for step in STEPS
    if step.name == "COPY" and not step.rest.startswith("--from")
    for source in step.rest.split()[:-1]
]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    kept = {line[1:] for line in lines if line[0] == "!"}
    assert lines[0] == "*"
    assert kept == set(COPIED)
    assert [source for source in COPIED if not (ROOT / source).exists()] == []


def test_bases_are_pinned() -> None:
    bases = [step.rest.split()[0] for step in STEPS if step.name == "FROM"]
    assert set(bases) == {"${PYTHON}"}  # one Python builds the environment and runs it
    (python,) = (step.rest for step in STEPS if step.name == "ARG" and step.rest.startswith("PYTHON="))
    assert re.fullmatch(r"PYTHON=docker\.io/library/python:\d+\.\d+\.\d+-slim-\w+", python)


def test_it_runs_as_nobody_without_a_shell() -> None:
    last = {step.name: step.rest for step in RUN}
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"])
    assert "RUN" not in last
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (command,) = json.loads(last["ENTRYPOINT"])  # the form without a shell is JSON
    assert command.removeprefix("/opt/bridge/bin/") in scripts
    assert json.loads(last["CMD"]) == ["run"]
    assert "BRIDGE_OPA=/opt/bridge/bin/opa" in last["ENV"]


def test_its_label_has_the_version() -> None:
    assert [step.rest for step in RUN if step.name == "ARG"] == [f"VERSION={__version__}"]
    assert 'org.opencontainers.image.version="${VERSION}"' in TEXT


def test_the_chart_installs_this_version() -> None:
    chart = ROOT / "deploy" / "chart" / "Chart.yaml"
    if chart.exists():
        assert yaml.safe_load(chart.read_text())["appVersion"] == __version__


def test_what_is_copied_is_enough_to_build_the_wheel(tmp_path: Path) -> None:
    source = _context(tmp_path)
    (build,) = (step.rest for step in BUILD if "hatchling build" in step.rest)
    command = shlex.split(build.replace("/opt/build/bin/python", sys.executable).replace("/opt/wheel", str(tmp_path)))
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    assert list(tmp_path.glob("policy_bridge-*.whl"))


@pytest.mark.long
def test_the_commands_of_the_build_make_what_is_run(tmp_path: Path) -> None:
    source, opt = _context(tmp_path), tmp_path / "opt"
    opt.mkdir()
    for step in BUILD:
        if step.name == "RUN":
            # OPA is taken from where this machine has it: a registry of packages is all that is asked for.
            command = step.rest.replace("BRIDGE_CACHE=/opt/tools ", "").replace("/opt/", f"{opt}/")
            if command.startswith("python "):
                command = f"{sys.executable} {command.removeprefix('python ')}"
            subprocess.run(["/bin/sh", "-ec", command], cwd=source, check=True)
    environment = {"BRIDGE_OPA": f"{opt}/bridge/bin/opa", "HOME": str(tmp_path)}
    asked: list[str | Path] = [opt / "bridge" / "bin" / "bridge", "--version"]
    told = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
    assert told.startswith(f"bridge {__version__}\n")
    assert f"({opt}/bridge/bin/opa; " in told


def _context(folder: Path) -> Path:
    """A folder with what the build gets, and nothing else."""
    source = folder / "src"
    for name in COPIED:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, ignore=lambda _, names: [n for n in names if fnmatch(n, "__*__")]
            )
        else:
            shutil.copy(ROOT / name, source / name)
    return source
