"""The commands of the GitHub Action, the GitLab template and the pre-commit hooks, run as these services run them."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from bridge.cli.main import run_command
from tests.e2e.conftest import ROOT, SHOP, Run

POLICY = """\
apiVersion: example.com/v1
kind: ColorPolicy
metadata: {name: sale, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: sale}]
  theme: dark
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose last commit adds a policy for a route that does not exist; its remote is `origin`."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    shutil.copytree(SHOP, origin / "deploy" / "shop")
    _git(origin, "init", "--quiet", "--initial-branch", "main")
    _git(origin, "add", ".")
    _git(origin, "commit", "--quiet", "--message", "before")
    (origin / "deploy" / "shop" / "95-sale.yaml").write_text(POLICY)
    _git(origin, "add", ".")
    _git(origin, "commit", "--quiet", "--message", "after")
    _git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{origin}", clone], check=True)
    return clone


@pytest.mark.long
def test_the_action_reports_new_problems_of_a_pull_request(
    clone: Path, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    runner = tmp_path / "runner"
    (runner / "policy-bridge" / "bin").mkdir(parents=True)
    (runner / "policy-bridge" / "bin" / "pbctl").symlink_to(bridge_path)
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"
    step = _action_step("analyze")
    more = {
        "BASE": _git(clone.parent / "origin", "rev-parse", "HEAD~1"),
        "MANIFESTS": "deploy",
        "ARGS": "--ignore Overridden",
        "RUNNER_TEMP": str(runner),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    said = _bash(step["run"], clone, {**environment, **more})
    annotation = "::error file=deploy/shop/95-sale.yaml,line=1,title=ColorPolicy/shop/sale%3A TargetNotFound"
    assert annotation in said
    assert outputs.read_text() == f"sarif={runner}/policy-bridge.sarif\nintroduced=true\n"
    assert '"version":"2.1.0"' in (runner / "policy-bridge.sarif").read_text().replace(": ", ":")
    assert summary.read_text().startswith("<!-- policy-bridge -->")
    assert _git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"BASE": "mian"}, "The input base 'mian' could not be fetched from the remote origin (see above)."),
        ({"COMMAND": "exit 3"}, "The input command failed with exit code 3 at the commit of this run."),
        ({"COMMAND": "test -e deploy/shop/95-sale.yaml"}, "The input command failed with exit code 1 at the base."),
    ],
)
def test_the_action_names_the_input_that_fails(
    clone: Path, environment: dict[str, str], tmp_path: Path, inputs: dict[str, str], said: str
) -> None:
    base = _git(clone.parent / "origin", "rev-parse", "HEAD~1")
    more = {"BASE": base, "MANIFESTS": "deploy", "COMMAND": "", "RUNNER_TEMP": str(tmp_path), **inputs}
    done = _run_step("analyze", clone, {**environment, **more})
    assert (done.returncode, done.stdout) == (2, f"::error title=Policy Bridge::{said}\n")


STUB = """\
#!/bin/bash
printf '%s\\n' "$*" >>"$RUNNER_TEMP/calls"
[ "${!#}" = markdown ] && printf '%s' "$REPORT"
exit "$CODE"
"""


@pytest.mark.parametrize(
    ("code", "report", "outputs"),
    [
        (1, "problems", "sarif={}/policy-bridge.sarif\nintroduced=true\n"),
        (2, "not all read", "incomplete=true\n"),
        (2, "", ""),
    ],
)
def test_the_action_reports_what_it_could_not_read_and_passes_arguments_of_each_line(
    clone: Path, environment: dict[str, str], tmp_path: Path, code: int, report: str, outputs: str
) -> None:
    pbctl = tmp_path / "policy-bridge" / "bin" / "pbctl"
    pbctl.parent.mkdir(parents=True)
    pbctl.write_text(STUB)
    pbctl.chmod(0o755)
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    more = {
        "BASE": _git(clone.parent / "origin", "rev-parse", "HEAD~1"),
        "MANIFESTS": "deploy",
        "COMMAND": "",
        "ARGS": "--ignore BackendNotFound\n--fail-on warning\n",
        "RUNNER_TEMP": str(tmp_path),
        "CODE": str(code),
        "REPORT": report,
        **{name: str(file) for name, file in files.items()},
    }
    done = _run_step("analyze", clone, {**environment, **more})
    assert done.returncode == (code if code > 1 else 0), done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [" --ignore BackendNotFound --fail-on warning -o " in call for call in calls] == [True] * len(calls)
    assert files["GITHUB_STEP_SUMMARY"].read_text() == report
    assert files["GITHUB_OUTPUT"].read_text() == outputs.format(tmp_path)
    assert "steps.analyze.outputs.incomplete == 'true'" in _action_step("Comment")["if"]


@pytest.mark.long
def test_the_action_compares_with_a_branch_that_the_clone_lacks(
    clone: Path, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    _git(clone.parent / "origin", "branch", "stable", "HEAD~1")
    (tmp_path / "policy-bridge" / "bin").mkdir(parents=True)
    (tmp_path / "policy-bridge" / "bin" / "pbctl").symlink_to(bridge_path)
    more = {"BASE": "stable", "MANIFESTS": "deploy", "RUNNER_TEMP": str(tmp_path)}
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    said = _bash(_action_step("analyze")["run"], clone, {**environment, **more, **files})
    assert "title=ColorPolicy/shop/sale%3A TargetNotFound" in said


@pytest.mark.long
def test_the_action_compares_the_output_of_a_command_at_both_commits(
    clone: Path, bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    runner = tmp_path / "runner"
    (runner / "policy-bridge" / "bin").mkdir(parents=True)
    (runner / "policy-bridge" / "bin" / "pbctl").symlink_to(bridge_path)
    more = {
        "BASE": _git(clone.parent / "origin", "rev-parse", "HEAD~1"),
        "COMMAND": "for file in deploy/shop/*.yaml; do echo ---; cat $file; done",
        "RUNNER_TEMP": str(runner),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    said = _bash(_action_step("analyze")["run"], clone, {**environment, **more})
    assert said.count("::error ") == 1
    assert "title=ColorPolicy/shop/sale%3A TargetNotFound" in said
    assert _git(clone, "status", "--porcelain") == ""


def test_analyze_compares_with_a_commit(bridge: Run, clone: Path) -> None:
    (clone / "deploy" / "shop" / "95-sale.yaml").unlink()
    answer = bridge("analyze", clone / "deploy", "--base", "HEAD")
    assert answer.returncode == 0, answer.stderr
    assert "1 deleted. Problems: 0 introduced, 1 fixed" in answer.stdout
    assert "HEAD:deploy/shop/95-sale.yaml:1" in answer.stdout
    assert _git(clone, "worktree", "list").count("\n") == 0
    everything_is_new = bridge("analyze", clone / "deploy" / "shop", "--base", "HEAD", "-o", "json")
    assert json.loads(everything_is_new.stdout)["objects"]["created"] == []


def test_a_folder_that_the_commit_lacks_is_named(bridge: Run, clone: Path) -> None:
    (clone / "deploy").rename(clone / "apply")
    answer = bridge("analyze", clone / "apply", "--base", "HEAD")
    assert " 0 deleted." in answer.stdout
    assert (
        f"warning: {clone / 'apply'} does not exist at HEAD: all of its objects are new, and none is" in answer.stderr
    )


def test_an_empty_rendering_is_no_deletion_of_everything(bridge: Run, tmp_path: Path) -> None:
    (old := tmp_path / "old.yaml").write_text(GATE)
    (new := tmp_path / "new.yaml").write_text("")
    answer = bridge("analyze", "-f", new, "--manifests", old, "--prune")
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"error: no objects in {new}\n")


GATE = """
apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: lost}
spec: {policy: testing.nowhere, match: {kinds: [{apiGroups: [""], kinds: [Service]}]}}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
"""


def test_problems_are_a_gate_with_violations_reasons_to_ignore_and_a_baseline(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/a.yaml").write_text(GATE)
    baseline = tmp_path / "known.json"
    gate = ("problems", "--manifests", tmp_path / "deploy")
    answer = bridge(*gate, "-o", "json")
    assert answer.returncode == 1
    assert {(one["reason"], one["subject"].rpartition("/")[2]) for one in json.loads(answer.stdout)} == {
        ("PolicyNotFound", "lost"),
        ("Violation", "cart"),
    }
    ignoring = bridge(*gate, "--ignore", "PolicyNotFound,Violation")
    assert (ignoring.returncode, "No problems found: --ignore leaves out " in ignoring.stderr) == (0, True)
    assert bridge(*gate, "--ignore", "Violation").returncode == 1
    assert 'did you mean "Violation"?' in bridge(*gate, "--ignore", "Violaton").stderr
    assert bridge(*gate, "--baseline", baseline).returncode == 2
    assert bridge(*gate, "--baseline", baseline, "--write-baseline").returncode == 0
    assert bridge(*gate, "--baseline", baseline).returncode == 0
    (tmp_path / "deploy/b.yaml").write_text(GATE.partition("---")[2].replace("cart", "sale"))
    new = bridge(*gate, "--baseline", baseline, "-o", "name")
    assert (new.returncode, new.stdout.strip()) == (1, "core/Service/shop/sale")
    annotations = bridge(*gate, "--baseline", baseline, "-o", "github")
    assert annotations.returncode == 1
    [line] = annotations.stdout.splitlines()
    assert line.startswith(f"::error file={tmp_path}/deploy/b.yaml,line=2,title=Service/shop/sale%3A Violation::")
    assert bridge("problems", "--violations", *gate[1:], "-o", "github").returncode == 2
    (tmp_path / "deploy/a.yaml").write_text("")
    gone = bridge(*gate, "--baseline", baseline)
    assert gone.returncode == 0
    assert "2 of 2 problems" in gone.stderr


def test_a_baseline_beside_the_manifests_is_no_manifest(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GATE)
    gate = ("problems", "--manifests", tmp_path, "--baseline", tmp_path / "known.json")
    assert bridge(*gate, "--write-baseline").returncode == 0
    answer = bridge(*gate)
    assert (answer.returncode, answer.stderr) == (0, "No new problems found.\n")
    (tmp_path / "broken.json").write_text('{"problems": {}}')
    assert "broken.json:1: document 1: apiVersion is missing" in bridge(*gate).stderr


def test_policy_with_a_selector_that_reaches_nothing_is_a_problem(bridge: Run, tmp_path: Path) -> None:
    kind = "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\n"
    policy = f"{kind}metadata: {{name: none, namespace: empty}}\nspec: {{}}"
    (tmp_path / "a.yaml").write_text(policy)
    answer = bridge("problems", "--manifests", tmp_path, "-o", "json")
    assert answer.returncode == 1
    assert [problem["reason"] for problem in json.loads(answer.stdout)] == ["NoScope"]


def test_warnings_fail_where_the_gate_says_so(bridge: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GATE.replace("{policy:", "{enforcementAction: warn, policy:"))
    gate = ("problems", "--manifests", tmp_path, "--ignore", "PolicyNotFound")
    assert bridge(*gate).returncode == 0
    assert bridge(*gate, "--fail-on", "warning").returncode == 1


def test_a_warning_of_a_baseline_that_becomes_an_error_is_new(bridge: Run, tmp_path: Path) -> None:
    file, baseline = tmp_path / "a.yaml", tmp_path / "known.json"
    gate = ("problems", "--manifests", file, "--ignore", "PolicyNotFound", "--baseline", baseline)
    file.write_text(GATE.replace("{policy:", "{enforcementAction: warn, policy:"))
    assert bridge(*gate, "--write-baseline").returncode == 0
    assert bridge(*gate, "--fail-on", "warning").returncode == 0
    file.write_text(GATE)
    new = bridge(*gate, "-o", "name")
    assert (new.returncode, new.stdout.strip(), new.stderr) == (1, "core/Service/shop/cart", "")
    assert bridge(*gate, "--write-baseline").returncode == 0
    file.write_text(GATE.replace("{policy:", "{enforcementAction: warn, policy:"))
    assert bridge(*gate, "--fail-on", "warning").returncode == 0


@pytest.mark.parametrize("target", ["../private", ".git"])
def test_link_in_place_of_a_folder_shows_nothing_outside_of_the_repository(
    bridge: Run, clone: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone.parent / "private").mkdir()
    for folder in (clone.parent / "private", clone / ".git"):
        (folder / "plans.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: Merger}}")
    shutil.rmtree(clone / "deploy")
    (clone / "deploy").symlink_to(target)
    monkeypatch.chdir(clone)
    found = bridge("analyze", "deploy", "--base", "HEAD", "-o", "junit")
    assert found.returncode == 2
    assert "error: deploy is a link to a place outside of the work tree" in found.stderr
    assert "Merger" not in found.stdout + found.stderr


def test_link_in_place_of_a_folder_is_compared_as_a_link(bridge: Run, clone: Path) -> None:
    (clone / "attic").mkdir()
    _git(clone, "mv", "deploy", "attic/deploy")
    (clone / "deploy").symlink_to("attic")
    (clone / "attic/deploy/shop/95-sale.yaml").unlink()
    answer = bridge("analyze", clone / "deploy", "--base", "HEAD", "-o", "json")
    deleted = json.loads(answer.stdout)["objects"]["deleted"]
    assert [key.rpartition("/")[2] for key in deleted] == ["sale"]


def test_a_submodule_among_the_manifests_is_an_error_and_not_new_objects(bridge: Run, clone: Path) -> None:
    _git(
        clone,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        f"file://{clone.parent / 'origin'}",
        "shared",
    )
    _git(clone, "commit", "--quiet", "--message", "shared")
    (clone / "shared/deploy/shop/95-sale.yaml").unlink()
    for paths in ([clone], [clone / "deploy", clone / "shared/deploy"]):
        answer = bridge("analyze", *paths, "--base", "HEAD")
        assert answer.returncode == 2
        assert "error: shared is a submodule, whose files HEAD does not have" in answer.stderr
    beside = bridge("analyze", clone / "deploy", "--base", "HEAD")
    assert beside.returncode == 0, beside.stderr
    _git(clone, "submodule", "--quiet", "deinit", "--force", "shared")
    without = bridge("analyze", clone / "deploy", clone / "shared", "--base", "HEAD")
    assert without.returncode == 0, without.stderr
    assert "warning: shared is a submodule that is not checked out: its manifests are not read" in without.stderr
    _git(clone, "update-index", "--cacheinfo", f"160000,{_git(clone, 'rev-parse', 'HEAD')},shared")
    for path in (clone, clone / "shared"):
        moved = bridge("analyze", path, "--base", "HEAD")
        assert moved.returncode == 2
        assert "error: shared is a submodule that differs between HEAD and the index" in moved.stderr
    beside = bridge("analyze", clone / "deploy", "--base", "HEAD")
    assert beside.returncode == 0, beside.stderr


def test_files_with_names_that_are_no_utf8_do_not_hinder_a_comparison(bridge: Run, clone: Path) -> None:
    for folder in (clone, clone / "deploy"):
        Path(os.fsdecode(bytes(folder) + b"/caf\xe9.txt")).write_text("")
    _git(clone, "add", ".")
    _git(clone, "commit", "--quiet", "--message", "names")
    for path in (clone / "deploy", clone):
        answer = bridge("analyze", path, "--base", "HEAD")
        assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["deploy", "--base", "nowhere"], "invalid reference: nowhere; a shallow clone may need git fetch first"),
        (["deploy", "--base", "--help"], "invalid reference: --help"),
        (["/", "--base", "HEAD"], "not a git repository"),
        (["deploy", "/", "--base", "HEAD"], "--base compares paths of one Git repository"),
        (["-", "--base", "HEAD"], "--base compares FILE with a commit"),
        (["deploy", "--base", "HEAD", "--opa", "http://127.0.0.1:1"], "--base COMMIT is the source"),
    ],
)
def test_base_that_cannot_be_compared_is_an_error(
    clone: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(clone)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        assert run_command(["analyze", *arguments]) == 2
    assert message in errors.getvalue()


# Stands for GitHub's `gh`: it writes down its call, and answers the query for comments through the filter, with jq.
GH = """#!/bin/bash
echo "${{@//$'\\n'/ }}" >>{folder}/calls
while [ $# -gt 0 ]; do
  [ "$1" != --jq ] || jq --raw-output "$2" {folder}/known
  shift
done
"""
MARKED = "<!-- policy-bridge -->\n"


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is missing: it applies the filter as gh does")
def test_the_action_keeps_one_comment_of_its_own_login(tmp_path: Path, environment: dict[str, str]) -> None:
    tool = tmp_path / "bin" / "gh"
    tool.parent.mkdir()
    tool.write_text(GH.format(folder=tmp_path))
    tool.chmod(0o755)
    (tmp_path / "policy-bridge.md").write_text("<!-- policy-bridge -->\n")
    more = {
        "PATH": f"{tool.parent}:{environment['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_REPOSITORY": "shop/deploy",
        "NUMBER": "7",
        "HEAD": "shop/deploy",
    }
    others = [
        {"databaseId": 40, "body": MARKED, "viewerDidAuthor": False},
        {"databaseId": 41, "body": "Looks good", "viewerDidAuthor": True},
    ]
    own = {"databaseId": 42, "body": MARKED, "viewerDidAuthor": True}
    calls = tmp_path / "calls"
    for comments, called in ((others, "repos/shop/deploy/issues/7/comments"), ([*others, own], "issues/comments/42")):
        pull_request = {"comments": {"nodes": comments}}
        (tmp_path / "known").write_text(json.dumps({"data": {"repository": {"pullRequest": pull_request}}}))
        calls.write_text("")
        _bash(_action_step("Comment")["run"], tmp_path, {**environment, **more})
        assert "owner=shop -f name=deploy" in calls.read_text()
        assert called in calls.read_text().splitlines()[-1]
        assert f"body=@{tmp_path}/policy-bridge.md" in calls.read_text()


def _run_step(name: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script of a step of the Action, as GitHub runs it."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", f"{_action_step(name)['run']}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("head", "status", "said"),
    [
        ("guest/deploy", 403, "::notice title=Policy Bridge::No comment"),
        ("shop/deploy", 403, "::error title=Policy Bridge::GitHub refuses the comment: give the job the permission"),
        ("shop/deploy", 502, "::error title=Policy Bridge::GitHub did not take the comment (see above)"),
    ],
    ids=["fork", "own branch", "outage"],
)
def test_action_names_the_permission_only_where_it_is_refused(
    tmp_path: Path, environment: dict[str, str], head: str, status: int, said: str
) -> None:
    is_fork = head != "shop/deploy"
    tool, calls = tmp_path / "bin" / "gh", tmp_path / "calls"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\necho "$@" >>{calls}\n[ "$2" = graphql ] || {{ echo "gh: no (HTTP {status})" >&2; exit 1; }}\n'
    )
    tool.chmod(0o755)
    more = {
        "PATH": f"{tool.parent}:{environment['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_REPOSITORY": "shop/deploy",
        "NUMBER": "7",
        "HEAD": head,
    }
    done = _run_step("Comment", tmp_path, {**environment, **more})
    assert done.returncode == (0 if is_fork else 1)
    assert done.stdout.startswith(said)
    assert len(done.stdout.splitlines()) == 1
    assert calls.exists() != is_fork


INPUTS = {"BASE": "abc", "COMMAND": "", "COMMENT": "true", "FAIL": "true", "MANIFESTS": "deploy"}


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, ""),
        ({"MANIFESTS": "", "COMMAND": "kubectl kustomize ."}, ""),
        ({"MANIFESTS": ""}, "Give the input manifests, a folder, or command, which prints manifests."),
        ({"COMMAND": "helm template ."}, "Give one of the inputs manifests and command, not both."),
        ({"MANIFESTS": "depoy"}, "The input manifests names 'depoy', which does not exist"),
        ({"BASE": ""}, "Give the input base, a commit: this run has no pull request that names one."),
        ({"FAIL": "no"}, "The input fail is 'no': write true or false."),
    ],
)
def test_action_checks_its_inputs_first(
    tmp_path: Path, environment: dict[str, str], inputs: dict[str, str], said: str
) -> None:
    (tmp_path / "deploy").mkdir()
    done = _run_step("Check inputs", tmp_path, {**environment, **INPUTS, **inputs})
    assert done.returncode == (2 if said else 0)
    assert len(done.stdout.splitlines()) == (1 if said else 0)
    assert done.stdout.startswith(f"::error title=Policy Bridge::{said}" if said else "")
    steps = [step.get("name") for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]]
    assert steps[0] == "Check inputs"


@pytest.mark.long
def test_the_template_for_gitlab_writes_failed_tests(
    clone: Path, bridge_path: Path, environment: dict[str, str]
) -> None:
    _, template = yaml.safe_load_all((ROOT / "deploy" / "ci" / "gitlab.yml").read_text())
    *commands, last = template["policy-bridge"]["script"]
    tools = clone.parent / "tools"
    (tools / "bin").mkdir(parents=True)
    (tools / "bin" / "pbctl").symlink_to(bridge_path)
    installs = [command for command in commands if "pip install" in command or "-m venv" in command]
    assert len(installs) == 2
    script = "\n".join(command for command in commands if command not in installs)
    base = _git(clone.parent / "origin", "rev-parse", "HEAD~1")
    more = {**environment, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "MANIFESTS": "deploy", "tools": str(tools)}
    said = _bash(f"{script}\n{last} || echo code $?", clone, more)
    assert said.endswith("code 1\n")
    assert "ColorPolicy/shop/sale" in said
    report = ET.parse(clone / "policy-bridge.xml").getroot()  # noqa: S314 - our own output
    failed = [case.get("name") for case in report.iter("testcase") if case.find("failure") is not None]
    assert len(failed) == 1


def test_hooks_of_pre_commit_fail_on_problems(bridge: Run, tmp_path: Path) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    shop = shutil.copytree(SHOP, tmp_path / "shop")
    found = bridge(*_hook(hooks["bridge-problems"], shop))
    assert found.returncode == 1
    assert "TargetNotFound" in found.stdout
    settings = tmp_path / "bridge.yaml"
    settings.write_text("statuswrites: 3\n")
    assert re.search(hooks["bridge-config"]["files"], "deploy/bridge.yaml")
    refused = bridge(*_hook(hooks["bridge-config"], shop), settings)
    assert refused.returncode != 0
    assert "statuswrites" in refused.stdout + refused.stderr


def test_hook_of_pre_commit_runs_suites(bridge: Run) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    answer = bridge(*_hook(hooks["bridge-test"], ROOT / "examples" / "tests"))
    assert (answer.returncode, answer.stdout.count("PASSED")) == (0, 4)


def _hook(hook: dict[str, Any], folder: Path) -> list[str]:
    words = [*shlex.split(hook["entry"])[1:], *hook.get("args", ())]
    return [str(folder) if word == "." else word for word in words]


def _action_step(name: str) -> dict[str, Any]:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (found,) = (step for step in steps if name in {step.get("id"), step.get("name")})
    return dict(found)


def _bash(script: str, folder: Path, environment: dict[str, str]) -> str:
    """What a script prints, run as GitHub and GitLab run them."""
    answer = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def _git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in _PERSON.items()}
    folder.mkdir(parents=True, exist_ok=True)
    answer = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **who}, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


_PERSON = {"NAME": "someone", "EMAIL": "someone@example.com"}
