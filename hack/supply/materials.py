"""The components of a wheel and of an image, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/)."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from bridge import __version__
from hack.tools.catalog import TOOLS

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATION = "1.6"
_HERE: Mapping[str, str] = MappingProxyType({})
_OWN = "policy-bridge"
_VENDORED = ROOT / "bridge" / "web" / "static" / "vendor" / "manifest.json"
_ENTRY = re.compile(r"^[\w.-]+==[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)  # of the lock: a package with its hashes
# Environments for which a marker may ask, beside the one of this machine.
_RUNS_ON: tuple[dict[str, str], ...] = tuple(
    {"sys_platform": system, "platform_system": name, "python_version": version, "python_full_version": f"{version}.0"}
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"))
    for version in ("3.11", "3.12", "3.13", "3.14")
)
_PINNED = re.compile(r"^([\w.-]+)==(\S+)")

Document = dict[str, Any]


def wheel_materials(wheel: Path) -> Document:
    """Return the bill of materials of a wheel: the wheel, its locked dependencies, vendored modules."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = {**_own("library", f"pkg:pypi/{_OWN}@{__version__}"), "hashes": [{"alg": "SHA-256", "content": digest}]}
    return _document(own, _parts())


def image_materials(base: str) -> Document:
    """Return the bill of materials of the image: that of the wheel, OPA, and the base image by name."""
    own = _own("container", f"pkg:oci/{_OWN}@{__version__}")
    name, _, tag = base.rpartition(":")
    opa = TOOLS["opa"]
    more = [
        _component("application", "opa", opa.version, f"pkg:golang/{opa.go.module}@v{opa.version}", "Apache-2.0"),
        _component("container", name, tag, f"pkg:oci/{name.rpartition('/')[2]}?repository_url={name}&tag={tag}", ""),
    ]
    return _document(own, [*_parts("otel"), *((one, []) for one in more)])


def base_image() -> str:
    """Return the base image of the Containerfile."""
    found = re.search(r"^ARG PYTHON=(\S+)$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError("Containerfile names no base image by ARG PYTHON=")
    return found[1]


def locked_needs() -> str:
    """Return the lines of requirements.lock, with hashes, for a wheel on Linux and macOS."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = {canonicalize_name(entry.split("==", 1)[0]): entry for entry in _ENTRY.findall(lock)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    seen: set[NormalizedName] = set()
    waiting = [name for one in _RUNS_ON for name in _needed(project["dependencies"], one)]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(PackageNotFoundError):  # needed on another system only
            waiting += [needed for one in _RUNS_ON for needed in _needed(distribution(name).requires or (), one)]
    return "".join(entries[name] for name in sorted(seen))


def flaws(document: Document) -> str:
    """Return the errors of a document by CycloneDX's schema; empty if it is valid."""
    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(msgspec.json.encode(document).decode())
    return str(found.data.message) if found else ""


def _parts(*extras: str) -> list[tuple[Document, list[str]]]:
    """Return the components of the wheel with these extras, each with references to its dependencies."""
    locked = _locked()
    seen: dict[str, tuple[Document, list[str]]] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    waiting = list(_needed(wanted))
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        found = distribution(name)
        if found.version != locked[name]:
            raise ValueError(f"{name} {found.version} is installed, but {locked[name]} is locked: run `make setup`")
        needed = list(_needed(found.requires or ()))
        seen[name] = (_package(name, found), [_purl(other, locked[other]) for other in needed])
        waiting += needed
    return [*(seen[name] for name in sorted(seen)), *((module, []) for module in _vendored())]


def _needed(requirements: Iterable[str], elsewhere: Mapping[str, str] = _HERE) -> Iterator[NormalizedName]:
    environment: Mapping[str, Any] = {**default_environment(), "extra": "", **elsewhere}
    for line in requirements:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(dict(environment)):
            yield canonicalize_name(requirement.name)


def _locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(match[1]): match[2] for line in lines if (match := _PINNED.match(line))}


def _package(name: str, found: Distribution) -> Document:
    metadata: Any = found.metadata
    license_ = metadata.get("License-Expression") or ""
    return _component("library", name, found.version, _purl(name, found.version), license_)


def _vendored() -> Iterator[Document]:
    for module in msgspec.json.decode(_VENDORED.read_bytes()):
        purl = f"pkg:npm/{module['name'].replace('@', '%40')}@{module['version']}"
        yield _component("library", module["name"], module["version"], purl, module["license"])


def _own(kind: str, purl: str) -> Document:
    return _component(kind, _OWN, __version__, purl, "Apache-2.0")


def _component(kind: str, name: str, version: str, purl: str, license_: str) -> Document:
    licenses = {"licenses": [{"expression": license_}]} if license_ else {}
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, **licenses}


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _document(own: Document, parts: list[tuple[Document, list[str]]]) -> Document:
    needed = {reference for _, references in parts for reference in references}
    direct = [component["bom-ref"] for component, _ in parts if component["bom-ref"] not in needed]
    dependencies = [{"ref": own["bom-ref"], "dependsOn": sorted(direct)}]
    dependencies += [{"ref": component["bom-ref"], "dependsOn": sorted(set(others))} for component, others in parts]
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": own},
        "components": [component for component, _ in parts],
        "dependencies": dependencies,
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(msgspec.json.encode(document)).hexdigest())
    return {**document, "serialNumber": f"urn:uuid:{serial}"}
