"""`pbctl verify` with the proxies of `tests/proxies`: objects, a dump, and the states after changes of either."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import ROOT, Run

FOLDER = ROOT / "tests/proxies"
Object = dict[str, Any]
CASES = [
    (file.parent, case) for file in sorted(FOLDER.glob("*/cases.yaml")) for case in yaml.safe_load(file.read_text())
]


@pytest.mark.parametrize(("folder", "case"), CASES, ids=[f"{folder.name}-{case['name']}" for folder, case in CASES])
def test_states_are_those_of_the_case(bridge: Run, tmp_path: Path, folder: Path, case: Object) -> None:
    objects, dump = tmp_path / "objects.yaml", tmp_path / "dump.json"
    objects.write_text(_changed((folder / "objects.yaml").read_text(), case.get("objects", ())))
    content = yaml.safe_load((folder / "dump.yaml").read_text())
    dump.write_text(_changed(json.dumps(content), case.get("replace", ())))
    done = bridge("verify", "--config-dump", dump, "--manifests", objects, "--all", "-o", "json")
    assert done.stdout, done.stderr
    found: dict[str, dict[str, dict[str, str]]] = {"states": {}, "policies": {}}
    for row in json.loads(done.stdout)["rows"]:
        target, kind = row["target"].partition("/")[2], row["policyKind"].rpartition("/")[2]
        found["states"].setdefault(target, {})[row["field"]] = row["state"]
        if row["field"] in {"(policy)", ""} and kind:
            found["policies"].setdefault(target, {})[kind] = row["state"]
    for part, states in found.items():
        wanted = case.get(part, {})
        assert {target: states.get(target) for target in wanted} == wanted


def _changed(text: str, changes: list[tuple[str, str]]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
