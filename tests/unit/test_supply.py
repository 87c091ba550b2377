"""What a release is made of: the locks, the audit."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hack.supply.audit import audit

ROOT = Path(__file__).parents[2]
RUNS = (ROOT / "requirements.lock").read_text()  # what `make setup`, the image and the Action install
DEVELOPS = (ROOT / "requirements-dev.lock").read_text()
LOCK = RUNS + DEVELOPS
ENTRIES = re.findall(r"^([\w.-]+)==(\S+)((?:[^\n]*\\\n)?(?:    --hash=\S+[^\n]*\n)*)", LOCK, re.MULTILINE)


def test_every_locked_package_has_hashes_and_names_no_host() -> None:
    assert len(ENTRIES) == len(re.findall(r"^[\w.-]+==", LOCK, re.MULTILINE)) > 80
    assert [name for name, _, rest in ENTRIES if "--hash=sha256:" not in rest] == []
    assert "://" not in LOCK


def test_locks_have_everything_that_is_declared_and_users_install_only_what_they_need() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = document["project"], document["dependency-groups"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    runs = [*project["dependencies"], *extras, *groups["build"]]
    for declared, lock in ((runs, RUNS), ([*groups["dev"], *groups["docs"]], LOCK)):
        locked = {canonicalize_name(name): version for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", lock)}
        for requirement in map(Requirement, declared):
            name = canonicalize_name(requirement.name)
            assert name in locked, f"`make lock LOCK_ARGS=` adds {name}"
            assert requirement.specifier.contains(locked[name], prereleases=True), name
    developed = {canonicalize_name(Requirement(one).name) for one in groups["dev"] + groups["docs"]}
    assert developed & {canonicalize_name(name) for name in re.findall(r"(?m)^([\w.-]+)==", RUNS)} == set()


def test_a_package_is_locked_at_one_version() -> None:
    assert len({name for name, _, _ in ENTRIES}) == len({(name, version) for name, version, _ in ENTRIES})
    assert set(re.findall(r"(?m)^[\w.-]+==.*", RUNS)) & set(re.findall(r"(?m)^[\w.-]+==.*", DEVELOPS)) == set()


def test_a_package_that_is_built_for_platforms_has_a_hash_for_each_of_them() -> None:
    (msgspec,) = (rest for name, _, rest in ENTRIES if name == "msgspec")
    assert msgspec.count("--hash=") > 20  # of four versions of Python on Linux and macOS


def test_an_audit_without_data_is_skipped_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / "lock"
    lock.write_text(f"idna==3.20 --hash=sha256:{'0' * 64}\n")
    nowhere = ("--vulnerability-service", "osv", "--osv-url", "http://127.0.0.1:9/")
    assert audit([lock], *nowhere) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("audit: skipped: the data is not available (")


def test_an_audit_names_known_vulnerabilities_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flaw = {"id": "PYSEC-2024-60", "fix_versions": ["3.7"], "aliases": ["CVE-2024-3651"], "description": "slow"}
    found = [
        {"name": "idna", "version": "3.6", "vulns": [flaw]},
        {"name": "click", "version": "8.5.1", "vulns": []},
    ]
    command = tmp_path / "python"  # stands for pip-audit
    command.write_text(f"#!/bin/sh\necho '{json.dumps({'dependencies': found})}'\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(command))
    assert audit() == 1
    assert capsys.readouterr().err.splitlines() == [
        "audit: idna 3.6: PYSEC-2024-60; fixed in 3.7",
        "audit: 2 packages, 1 known vulnerabilities",
    ]
