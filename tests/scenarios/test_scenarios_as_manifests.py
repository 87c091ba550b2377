"""Scenarios as manifests, through the command line: one call for all effective policies, one for all statuses."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge.model.keys import key_of
from bridge.offline.engine import open_engine
from tests.in_process import run_with_opa
from tests.scenarios.cases import Case, all_cases, policy_maps
from tests.scenarios.checking import Answers, check
from tests.scenarios.described_requests import command_of, name_of, requests_of
from tests.scenarios.judging import Judged, check_judged

BRIDGE = Path(sys.executable).parent / "pbctl"
INPUT_ERROR = 2
EXPECTED = ("it has no PolicyKind", "which the bridge reads. Write the policy in that version")
REFUSED = re.compile(r"error: (?P<file>.+?):\d+: PolicyKind/(?P<name>\S+) is not active: (?P<message>.+)")


@dataclass(frozen=True, slots=True)
class Printed:
    """The JSON output of a command, and file, name and message of each PolicyKind that it reported as not active."""

    answer: Any
    refused: list[tuple[str, str, str]]


def bridge(opa_path: Path, *command: str, cases: Sequence[Case] | None = None, code: int = 0) -> Printed:
    """Run a read command on the manifests of some scenarios, or of all; the expected exit code is `code` or 0."""
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
    """The metadata of each object, merged with its status."""
    return {str(key_of(obj)): obj["metadata"] | obj.get("status", {}) for obj in bridge(opa_path, "status").answer}


@dataclass(frozen=True, slots=True)
class Shell:
    """The command on an OPA that holds the manifests of several scenarios.

    It runs within this process: to start it, and an OPA, for each question would take longer than all the rest.
    """

    opa_url: str

    def bridge(self, *command: str) -> Any:
        """Run the command and return its JSON output."""
        answer = run_with_opa(self.opa_url, *command, "-o", "json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def effective(self, case: Case, source: str) -> list[dict[str, Any]]:
        """Return the effective policies of a scenario's kinds for requests from the namespace `source`."""
        kinds = [("--kind", kind) for kind in sorted(case.policy_kinds)]
        return [entry for kind in kinds for entry in self.bridge("effective", *kind, "--source-namespace", source)]

    def request(self, asked: dict[str, Any]) -> Any:
        """Return the result of a request, and check that the exit code is 1 if it is not answered."""
        answer = run_with_opa(self.opa_url, *command_of(asked), "-o", "json")
        found = json.loads(answer.stdout)
        assert answer.returncode == (0 if found["rule"] and not found["failure"] else 1)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shell(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shell]:
    """The command on the manifests of the scenarios that need more than effective policies and statuses."""
    cases = [case for case in all_cases() if case.sources or case.explained or case.trees or requests_of(case)]
    rego = tmp_path_factory.mktemp("rego") / "policies.json"
    rego.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": policy_maps(cases)}))
    async with open_engine(manifests=[*(str(case.manifest) for case in cases), str(rego)]) as engine:
        yield Shell(engine.opa.url)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_folder_of_manifests(
    case: Case, effective: Printed, statuses: dict[str, dict[str, Any]], shell: Shell, opa_path: Path
) -> None:
    mine = [entry for entry in effective.answer if case.owns(entry)]
    refused = {name: {"message": message} for file, name, message in effective.refused if file == str(case.manifest)}
    by_source = {source: [e for e in shell.effective(case, source) if case.owns(e)] for source in case.sources}
    explained = {target: shell.bridge("explain", target) for target in case.explained}
    requests = {name_of(asked): shell.request(asked) for asked in requests_of(case)}
    trees = {root: shell.bridge("tree", root) for root in case.trees}
    problems = {key: bridge(opa_path, "problems", key, cases=[case], code=1).answer for key in case.reported}
    check(case, Answers(mine, statuses, statuses, refused, by_source, explained, requests, trees, problems))


@pytest.fixture(scope="module")
def violations(opa_path: Path) -> list[dict[str, Any]]:
    """The violations of all Constraints. The command reports the invalid Constraints."""
    cases = [case for case in all_cases() if case.constrained]
    files = [option for case in cases for option in ("--manifests", str(case.manifest))]
    policies = json.dumps({"apiVersion": "v1", "kind": "List", "items": policy_maps(cases)}).encode()
    command = [str(BRIDGE), "violations", *files, "--manifests", "-", "-o", "json"]
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path)}
    done = subprocess.run(command, input=policies, capture_output=True, check=False, env=environ)
    senseless = {name for case in cases for name in case.senseless}
    told = set(re.findall(r"Constraint/(\S+) is not active: ", done.stderr.decode()))
    assert (done.returncode, told) == (INPUT_ERROR, senseless), done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("case", [case for case in all_cases() if case.constrained], ids=lambda case: case.name)
def test_a_scenario_of_constraints_holds_on_a_folder_of_manifests(case: Case, violations: list[dict[str, Any]]) -> None:
    check_judged(case, Judged(violations))
