"""Scenarios as manifests, through the command line: one call for all effective policies, one for all statuses."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge.app.engine import open_engine
from bridge.cli.main import run_command
from bridge.model.keys import key_of
from tests.scenarios.cases import Case, all_cases, policy_maps
from tests.scenarios.checking import Answers, check
from tests.scenarios.judging import Judged, check_judged
from tests.scenarios.requests import command_of, name_of, requests_of

BRIDGE = Path(sys.executable).parent / "bridge"
INPUT_ERROR = 2
EXPECTED = ("no policy kind describes it", "which the bridge reads: write the policy in that version")
REFUSED = re.compile(r"error: (?P<file>.+?):\d+: PolicyKind (?P<name>\S+) is not active: (?P<message>.+)")


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed as JSON, and what it told of PolicyKinds that are not active: file, name, message."""

    answer: Any
    refused: list[tuple[str, str, str]]


def bridge(opa_path: Path, *command: str, cases: Sequence[Case] | None = None, code: int = 0) -> Printed:
    """Run a read command on the manifests of some scenarios, or of all. It ends with `code` or 0, or reports faults."""
    chosen = all_cases() if cases is None else cases
    files = [option for case in chosen for option in ("--manifests", str(case.manifest))]
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path)}
    policies = json.dumps({"apiVersion": "v1", "kind": "List", "items": policy_maps(chosen)}).encode()
    arguments = [str(BRIDGE), *command, *files, "--manifests", "-", "-o", "json"]
    done = subprocess.run(arguments, input=policies, capture_output=True, check=False, env=environ)
    # The policies of a PolicyKind that is not active are described by none. Versions are checked by `problems`.
    errors = [line for line in done.stderr.decode().splitlines() if not any(text in line for text in EXPECTED)]
    told = [REFUSED.fullmatch(line) for line in errors]
    assert all(told), errors
    assert done.returncode in ({INPUT_ERROR} if told else {0, code}), errors
    return Printed(json.loads(done.stdout), [(m["file"], m["name"], m["message"]) for m in told if m])


@pytest.fixture(scope="module")
def effective(opa_path: Path) -> Printed:
    return bridge(opa_path, "effective")


@pytest.fixture(scope="module")
def statuses(opa_path: Path) -> dict[str, dict[str, Any]]:
    """What each object shows: its metadata, and over it its status."""
    return {str(key_of(obj)): obj["metadata"] | obj.get("status", {}) for obj in bridge(opa_path, "status").answer}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def requests_asked() -> AsyncIterator[Callable[[Case], dict[str, Any]]]:
    """Asks by the command for a scenario's requests: an OPA is filled from its manifests, and from those of all."""
    manifests = [str(case.manifest) for case in all_cases() if requests_of(case)]
    async with open_engine(manifests=manifests) as engine:

        def ask(case: Case) -> dict[str, Any]:
            return {name_of(asked): _asked(engine.opa.url, asked) for asked in requests_of(case)}

        yield ask


def _asked(opa_url: str, asked: dict[str, Any]) -> Any:
    # The command within this process: to start one for each request would take longer than all the rest.
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = run_command([*command_of(asked), "--opa", opa_url, "-o", "json"])
    answer = json.loads(said.getvalue())
    assert code == (0 if answer["rule"] else 1)
    return answer


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_folder_of_manifests(
    case: Case,
    effective: Printed,
    statuses: dict[str, dict[str, Any]],
    requests_asked: Callable[[Case], dict[str, Any]],
    opa_path: Path,
) -> None:
    mine = [entry for entry in effective.answer if case.owns(entry)]
    refused = {name: {"message": message} for file, name, message in effective.refused if file == str(case.manifest)}
    by_source = {
        namespace: bridge(opa_path, "effective", "--source-namespace", namespace, cases=[case]).answer
        for namespace in case.sources
    }
    explained = {target: bridge(opa_path, "explain", target, cases=[case]).answer for target in case.explained}
    requests = requests_asked(case)
    trees = {root: bridge(opa_path, "tree", root, cases=[case]).answer for root in case.trees}
    problems = {key: bridge(opa_path, "problems", key, cases=[case], code=1).answer for key in case.reported}
    check(case, Answers(mine, statuses, statuses, refused, by_source, explained, requests, trees, problems))


@pytest.fixture(scope="module")
def violations(opa_path: Path) -> list[dict[str, Any]]:
    """What all Constraints say of all scenarios; and of which it is told that they are not accepted."""
    cases = [case for case in all_cases() if case.constrained]
    files = [option for case in cases for option in ("--manifests", str(case.manifest))]
    policies = json.dumps({"apiVersion": "v1", "kind": "List", "items": policy_maps(cases)}).encode()
    command = [str(BRIDGE), "violations", *files, "--manifests", "-", "-o", "json"]
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path)}
    done = subprocess.run(command, input=policies, capture_output=True, check=False, env=environ)
    senseless = {name for case in cases for name in case.senseless}
    told = set(re.findall(r"Constraint (\S+) is not active: ", done.stderr.decode()))
    assert (done.returncode, told) == (INPUT_ERROR, senseless), done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("case", [case for case in all_cases() if case.constrained], ids=lambda case: case.name)
def test_a_scenario_of_constraints_holds_on_a_folder_of_manifests(case: Case, violations: list[dict[str, Any]]) -> None:
    check_judged(case, Judged(violations))
