"""`pbctl problems --violations` as a person runs it."""

from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Run

EXAMPLE = ROOT / "examples" / "constraints"
WRONG = """apiVersion: policybridge.io/v1alpha1
kind: Constraint
metadata: {name: wrong}
spec: {policy: a, enforcementAction: forbid}
"""


def test_without_constraints_there_is_nothing_to_tell(shop: Run) -> None:
    done = shop("violations")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No violations found.\n")


def test_a_constraint_that_is_invalid_is_reported_where_it_stands(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(WRONG)
    done = bridge("violations", "--manifests", file)
    assert done.returncode == 2
    message = 'Constraint/wrong is not active: enforcementAction: "forbid" is not one of deny, warn, dryrun'
    assert f"error: {file}:1: {message}" in done.stderr
    assert "No violations found by the active Constraints." in done.stderr


def test_a_missing_policy_is_reported_and_its_objects_are_violations(bridge: Run, tmp_path: Path) -> None:
    files = [file for file in sorted(EXAMPLE.glob("*.yaml")) if not file.name.startswith("10-")]
    options = [option for file in files for option in ("--manifests", file)]
    done = bridge("violations", *options, "-n", "search")
    assert done.returncode == 2
    assert "Constraint/memory-limits: policy k8s.memory is not loaded" in done.stderr
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:]] == [
        ["memory-limits", "deny", "Pod/search/index"]
    ]


@pytest.mark.parametrize(
    "output",
    ["table", "wide", "json", "yaml", "name", "jsonpath={.items[*].object}", "custom-columns=OBJECT:.object"],
)
def test_violations_are_printed_in_each_form(bridge: Run, output: str) -> None:
    files = [part for name in ("shop", "guardrails") for part in ("--manifests", ROOT / "examples" / name)]
    done = bridge("violations", *files, "-n", "blog", "-o", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert "HTTPRoute/blog/feeds" in done.stdout


def test_a_warning_fails_where_the_option_wants_it(bridge: Run) -> None:
    files = [part for name in ("shop", "guardrails") for part in ("--manifests", ROOT / "examples" / name)]
    warned = ("problems", "--violations", *files, "-n", "blog")
    assert [bridge(*warned, *more).returncode for more in ((), ("--fail-on", "warning"))] == [0, 1]
