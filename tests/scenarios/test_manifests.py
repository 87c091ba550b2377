"""Scenarios as a folder of manifests, through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.model.keys import key_of
from tests.scenarios.cases import Case, all_cases
from tests.scenarios.checking import Answers, check

BRIDGE = Path(sys.executable).parent / "bridge"


def bridge(opa_path: Path, *arguments: str) -> Any:
    """What the command prints, as JSON."""
    environ = {**os.environ, "BRIDGE_OPA": str(opa_path)}
    done = subprocess.run([BRIDGE, *arguments, "-o", "json"], capture_output=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_scenario_holds_on_a_folder_of_manifests(case: Case, opa_path: Path) -> None:
    effective = bridge(opa_path, "effective", "--manifests", str(case.folder / "objects.yaml"))
    objects = bridge(opa_path, "status", "--manifests", str(case.folder / "objects.yaml"))
    statuses = {str(key_of(obj)): obj.get("status", {}) for obj in objects}
    conditions = {key: status.get("conditions", []) for key, status in statuses.items()}
    check(case, Answers(effective, statuses, conditions))
