"""What a release is made of: the lock, the bills of materials, the audit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hack.supply.audit import audit, report
from hack.supply.materials import ROOT, base_image, flaws, image_materials, wheel_materials
from hack.tools.catalog import TOOLS

LOCK = (ROOT / "requirements.lock").read_text()
ENTRIES = re.findall(r"^([\w.-]+)==(\S+)((?:[^\n]*\\\n)?(?:    --hash=\S+[^\n]*\n)*)", LOCK, re.MULTILINE)


def test_every_locked_package_has_hashes_and_names_no_host() -> None:
    assert len(ENTRIES) == len(re.findall(r"^[\w.-]+==", LOCK, re.MULTILINE)) > 80
    assert [name for name, _, rest in ENTRIES if "--hash=sha256:" not in rest] == []
    assert "://" not in LOCK


def test_the_lock_has_everything_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    declared = [*project["project"]["dependencies"], *groups["dev"], *groups["docs"]]
    locked = {canonicalize_name(name): version for name, version, _ in ENTRIES}
    for requirement in map(Requirement, declared):
        name = canonicalize_name(requirement.name)
        assert name in locked, f"`make lock LOCK_ARGS=` adds {name}"
        assert requirement.specifier.contains(locked[name], prereleases=True), name


def test_a_package_that_is_built_for_platforms_has_a_hash_for_each_of_them() -> None:
    (msgspec,) = (rest for name, _, rest in ENTRIES if name == "msgspec")
    assert msgspec.count("--hash=") > 20  # of four versions of Python on Linux and macOS


def test_the_bills_of_materials_are_cyclonedx_and_name_what_is_run(tmp_path: Path) -> None:
    wheel = tmp_path / "policy_bridge.whl"
    wheel.write_bytes(b"a wheel")
    of_wheel, of_image = wheel_materials(wheel), image_materials(base_image())
    assert (flaws(of_wheel), flaws(of_image)) == ("", "")
    names = {component["name"] for component in of_wheel["components"]}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {canonicalize_name(Requirement(line).name) for line in declared} <= names
    assert {"cytoscape", "aiosignal"} <= names  # vendored, and needed by a dependency
    assert not {"pytest", "mypy", "ruff"} & names
    more = {component["name"]: component["version"] for component in of_image["components"]}
    assert more["opa"] == TOOLS["opa"].version
    assert more["docker.io/library/python"] == base_image().rpartition(":")[2]


def test_a_document_that_is_not_cyclonedx_is_found_out(tmp_path: Path) -> None:
    document = image_materials(base_image())
    del document["specVersion"]
    assert "specVersion" in flaws(document)


def test_an_audit_without_data_is_skipped_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / "lock"
    lock.write_text(f"idna==3.20 --hash=sha256:{'0' * 64}\n")
    nowhere = ("--vulnerability-service", "osv", "--osv-url", "http://127.0.0.1:9/")
    assert audit(lock, *nowhere) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("audit: skipped: the data is not available (")


def test_an_audit_names_what_is_known_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    flaw = {"id": "PYSEC-2024-60", "fix_versions": ["3.7"], "aliases": ["CVE-2024-3651"], "description": "slow"}
    found: list[dict[str, Any]] = [
        {"name": "idna", "version": "3.6", "vulns": [flaw]},
        {"name": "click", "version": "8.5.1", "vulns": []},
    ]
    assert report(found) == 1
    assert capsys.readouterr().err.splitlines() == [
        "audit: idna 3.6: PYSEC-2024-60; fixed in 3.7",
        "audit: 2 packages, 1 known vulnerabilities",
    ]
