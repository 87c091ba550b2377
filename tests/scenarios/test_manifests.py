"""Scenarios as manifests, through the command line: one call for all effective policies, one for all statuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.model.keys import key_of
from tests.scenarios.cases import Case, all_cases, policy_maps
from tests.scenarios.checking import Answers, check

BRIDGE = Path(sys.executable).parent / "bridge"
INPUT_ERROR = 2
REFUSED = re.compile(r"error: (?P<file>.+?):\d+: PolicyKind (?P<name>\S+) is not in force: (?P<message>.+)")


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed as JSON, and what it told of PolicyKinds that are not in force: file, name, message."""

    answer: Any
    refused: list[tuple[str, str, str]]


def bridge(opa_path: Path, *command: str, cases: Sequence[Case] | None = None) -> Printed:
    """Run a read command on the manifests of some scenarios, or of all."""
    chosen = all_cases() if cases is None else cases
    files = [option for case in chosen for option in ("--manifests", str(case.manifest))]
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path)}
    policies = json.dumps({"apiVersion": "v1", "kind": "List", "items": policy_maps(chosen)}).encode()
    arguments = [str(BRIDGE), *command, *files, "--manifests", "-", "-o", "json"]
    done = subprocess.run(arguments, input=policies, capture_output=True, check=False, env=environ)
    errors = done.stderr.decode().splitlines()
    told = [REFUSED.fullmatch(line) for line in errors]
    assert all(told), errors
    assert done.returncode == (INPUT_ERROR if told else 0), errors
    return Printed(json.loads(done.stdout), [(m["file"], m["name"], m["message"]) for m in told if m])


@pytest.fixture(scope="module")
def effective(opa_path: Path) -> Printed:
    return bridge(opa_path, "effective")


@pytest.fixture(scope="module")
def statuses(opa_path: Path) -> dict[str, dict[str, Any]]:
    """What each object shows: its metadata, and over it its status."""
    return {str(key_of(obj)): obj["metadata"] | obj.get("status", {}) for obj in bridge(opa_path, "status").answer}


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_folder_of_manifests(
    case: Case, effective: Printed, statuses: dict[str, dict[str, Any]], opa_path: Path
) -> None:
    mine = [entry for entry in effective.answer if case.owns(entry)]
    refused = {name: {"message": message} for file, name, message in effective.refused if file == str(case.manifest)}
    by_source = {
        namespace: bridge(opa_path, "effective", "--source-namespace", namespace, cases=[case]).answer
        for namespace in case.sources
    }
    explained = {target: bridge(opa_path, "explain", target, cases=[case]).answer for target in case.explained}
    check(case, Answers(mine, statuses, statuses, refused, by_source, explained))
