"""Policies that are written in another version of their CRD than the bridge reads (semantics K7)."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Run

SCENARIOS = Path("tests/scenarios")
OTHER_FIELDS = SCENARIOS / "policy_in_a_version_with_other_fields" / "objects.yaml"
NAMESPACE = "policy-in-a-version-with-other-fields"


@pytest.mark.parametrize("command", ["effective", "tree", "status"])
def test_read_commands_warn_of_a_version_with_other_fields(bridge: Run, command: str) -> None:
    answer = bridge(command, "--manifests", OTHER_FIELDS)
    line = next(
        number
        for number, text in enumerate(OTHER_FIELDS.read_text().splitlines(), 1)
        if "v1alpha1\n" in f"{text}\n" and "apiVersion" in text
    )
    assert answer.stderr == (
        f"warning: {OTHER_FIELDS}:{line}: ColorPolicy/{NAMESPACE}/edge: apiVersion "
        f'"{NAMESPACE}.example.com/v1alpha1" has other fields than v1, which the bridge reads. '
        "Write the policy in that version\n"
    )
    assert answer.returncode == 0


def test_a_version_that_the_crd_does_not_serve_is_a_fault_of_the_input(bridge: Run, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(
        OTHER_FIELDS.read_text().replace("example.com/v1\nkind: ColorPolicy", "example.com/v3\nkind: ColorPolicy")
    )
    answer = bridge("effective", "--manifests", file)
    assert f'ColorPolicy/{NAMESPACE}/shop: apiVersion "{NAMESPACE}.example.com/v3" is not served: ' in answer.stderr
    assert "the CRD serves v1, v1alpha1" in answer.stderr
    assert answer.returncode == 2


def test_a_version_with_the_same_fields_is_not_reported(bridge: Run) -> None:
    answer = bridge("effective", "--manifests", SCENARIOS / "policy_in_another_version" / "objects.yaml")
    assert (answer.stderr, answer.returncode) == ("", 0)
