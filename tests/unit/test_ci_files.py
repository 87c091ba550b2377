"""The files for GitHub, GitLab and pre-commit: valid by their schemas, and of this version."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge import __version__
from hack.tools.go_tools import go_command

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "deploy" / "ci" / "gitlab.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
ACTIONLINT = ("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.7")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        *(("vendor.github-workflows", file) for file in WORKFLOWS),
        ("vendor.github-actions", ACTION),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_a_file_is_valid_by_its_schema(schema: str, file: Path) -> None:
    _check(schema, file)


def test_the_template_for_gitlab_is_valid_by_its_schema(tmp_path: Path) -> None:
    """The schema knows the second document; the first declares its inputs."""
    header, _ = yaml.safe_load_all(GITLAB.read_text())
    text = GITLAB.read_text().split("\n---\n", 1)[1]
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", text))
    assert used == set(header["spec"]["inputs"])
    plain = tmp_path / ".gitlab-ci.yml"
    plain.write_text(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", r"the-\1", text).replace("the-stage", "test"))
    _check("vendor.gitlab-ci", plain)


def test_workflows_pass_actionlint() -> None:
    command = [go_command(*ACTIONLINT), *WORKFLOWS]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_hooks_of_pre_commit_name_commands_of_the_package() -> None:
    for hook in yaml.safe_load(HOOKS.read_text()):
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook["language"] == "python"
        assert hook["entry"].split()[0] == "bridge"


def test_workflows_may_do_no_more_than_they_need() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}, file.name
        for step in _steps(workflow):
            # What others write (titles, branch names) reaches a shell through variables alone.
            assert "${{" not in step.get("run", ""), step


def test_files_for_ci_name_this_version() -> None:
    for file in (ACTION, GITLAB):
        versions = set(re.findall(r"policy-bridge(?:@v|==|/releases/download/v)(\d[\w.]*\w)", file.read_text()))
        assert versions == {__version__}, file.name


def _steps(workflow: Any) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def _check(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--no-cache", str(file)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
