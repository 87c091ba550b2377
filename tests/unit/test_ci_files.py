"""The files for GitHub, GitLab and pre-commit: valid by their schemas, and of this version."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge import __version__
from hack.tools.building import go_command

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
        assert hook["entry"].split()[0] == "pbctl"


def test_workflows_may_do_no_more_than_they_need() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}, file.name
        for step in _steps(workflow):
            # What others write (titles, branch names) reaches a shell through variables alone.
            assert "${{" not in step.get("run", ""), step


def test_actions_of_others_are_named_by_commit_with_the_version_in_a_comment() -> None:
    files = [*WORKFLOWS, ACTION, *sorted((ROOT / "docs").rglob("*.md"))]
    found = [line for file in files for line in re.findall(r"^[ -]*uses: *(\S.*)$", file.read_text(), re.MULTILINE)]
    pinned = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    own = "policy-bridge/policy-bridge@v"
    assert [line for line in found if not pinned.fullmatch(line) and not line.startswith(own)] == []
    commits = {line.split(" ")[0] for line in found}
    assert len({commit.split("@")[0] for commit in commits}) == len(commits)


def test_the_action_installs_only_files_that_match_the_locks_hashes() -> None:
    """As the Containerfile does: hashes decide what is fetched, and the build takes nothing else."""
    (step,) = (step for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "-m venv" in step.get("run", ""))
    fetch, *installs = re.findall(r"pip\" .*", step["run"].replace("\\\n", " "))
    assert "--require-hashes" in fetch
    assert "--only-binary :all:" in fetch
    assert "requirements.lock" in fetch
    assert len(installs) > 0
    assert [line for line in installs if "--no-index" not in line] == []
    assert "--no-build-isolation" in installs[-1]


def test_ci_executes_no_module_of_the_repository(tmp_path: Path) -> None:
    """`python -m` and `python -c` import from the current folder first; a pull request may add a `venv.py` to it."""
    (tmp_path / "venv.py").write_text("open('executed', 'w')\n")
    lines = [line.strip(" -") for file in (ACTION, GITLAB) for line in file.read_text().splitlines()]
    found = [line for line in lines if "-m venv" in line]
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHON": sys.executable}
    environment["RUNNER_TEMP"] = str(tmp_path / "runner")
    for line in found:
        subprocess.run(["bash", "-ec", f"{line} --without-pip"], cwd=tmp_path, env=environment, check=True)
    assert len(found) == len((ACTION, GITLAB))
    assert not (tmp_path / "executed").exists()


def test_an_environment_in_the_repository_is_not_used_by_the_template_for_gitlab(tmp_path: Path) -> None:
    """A merge request may add an environment with a module that Python executes at its start, and a file of pip."""
    for folder in (".policy-bridge", "venv", "tools"):
        packages = tmp_path / folder / f"lib/python3.{sys.version_info.minor}/site-packages"
        packages.mkdir(parents=True)
        (packages / "x.pth").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'executed')!r}).touch()\n")
        (tmp_path / folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    _, template = yaml.safe_load_all(GITLAB.read_text())
    script = template["policy-bridge"]["script"]
    [make] = [line for line in script if "-m venv" in line]
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f'cd {tmp_path}; {make} --without-pip; "$tools/bin/python" -c pass; echo "$tools"'
    done = subprocess.run(["bash", "-ec", command], env=environment, capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).is_relative_to(tmp_path)
    assert not (tmp_path / "executed").exists()
    assert [line for line in script if "bin/" in line and "$tools" not in line] == []
    shutil.rmtree(done.stdout.strip())


def test_the_kubectl_plugin_executes_no_module_of_the_current_folder(tmp_path: Path) -> None:
    plugin, home, folder = tmp_path / "plugin", tmp_path / "home", tmp_path / "folder"
    for each in (plugin, home, folder):
        each.mkdir()
    shutil.copy(ROOT / "deploy" / "krew" / "kubectl-bridge", plugin)
    (plugin / f"policy_bridge-{__version__}-py3-none-any.whl").touch()
    (home / __version__).symlink_to(Path(sys.executable).parents[1])
    (folder / "click.py").write_text("open('executed', 'w')\n")
    environment = {**os.environ, "BRIDGE_PLUGIN_HOME": str(home)}
    command = [str(plugin / "kubectl-bridge"), "--version"]
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not (folder / "executed").exists()
    assert __version__ in answer.stdout


def test_the_release_image_is_built_with_pinned_digests_of_opa() -> None:
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    check, build = (step for step in release["jobs"]["image"]["steps"] if "OPA_SHA256" in str(step))
    assert "OPA_SHA256=${{ vars.OPA_SHA256 }}" in build["with"]["build-args"]
    for digests, code in (("", 1), ("f" * 64, 1), (f"{'a' * 64} {'b' * 64}", 0)):
        environment = {"OPA_SHA256": digests, "PATH": os.environ["PATH"]}
        answer = subprocess.run(["bash", "-e", "-c", check["run"]], env=environment, capture_output=True, check=False)
        assert answer.returncode == code, digests


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
