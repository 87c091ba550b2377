"""The components of the wheel and of the image, as CycloneDX 1.6, which cyclonedx-py reads from an environment."""

import contextlib
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import msgspec
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from bridge import __version__
from hack.tools.catalog import TOOLS

ROOT = Path(__file__).resolve().parents[2]
_VENDORED = ROOT / "bridge" / "web" / "static" / "vendor" / "manifest.json"
_ENTRY = re.compile(r"^[\w.-]+==[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)  # of the lock: a package with its hashes
# Environments for which a marker may ask, beside the one of this machine.
_RUNS_ON: tuple[dict[str, str], ...] = tuple(
    {"sys_platform": system, "platform_system": name, "python_version": version, "python_full_version": f"{version}.0"}
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"))
    for version in ("3.11", "3.12", "3.13", "3.14")
)

Document = dict[str, Any]


def wheel_materials(wheel: Path) -> Document:
    """Return the bill of materials of a wheel: the wheel, its locked dependencies, vendored modules."""
    document = _of_environment(wheel, locked_needs(), "library")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    document["metadata"]["component"]["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return document


def image_materials(wheel: Path, base: str) -> Document:
    """Return the bill of materials of the image: that of the wheel with its extras, OPA, and the base image by name."""
    document = _of_environment(wheel, locked_needs("otel", "storage"), "container")
    name, _, tag = base.rpartition(":")
    opa = TOOLS["opa"]
    assert opa.go
    document["components"] += [
        _component("application", "opa", opa.version, f"pkg:golang/{opa.go.module}@v{opa.version}", "Apache-2.0"),
        _component("container", name, tag, f"pkg:oci/{name.rpartition('/')[2]}?repository_url={name}&tag={tag}"),
    ]
    return document


def _of_environment(wheel: Path, requirements: str, kind: str) -> Document:
    """Return the document of an environment with a wheel and its requirements, and with the vendored modules."""
    with tempfile.TemporaryDirectory(prefix="policy-bridge-sbom-") as folder:
        environment, locked = Path(folder) / "venv", Path(folder) / "requirements.txt"
        venv.create(environment)
        locked.write_text(requirements, encoding="utf-8")
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", environment, "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "--requirement", locked], check=True)
        subprocess.run([*pip, "--no-deps", wheel], check=True)
        command: list[str | Path] = [Path(sys.executable).with_name("cyclonedx-py"), "environment"]
        command += [
            "--sv",
            "1.6",
            "--output-reproducible",
            "--mc-type",
            "library",
            "--pyproject",
            ROOT / "pyproject.toml",
        ]
        done = subprocess.run([*command, environment], check=True, capture_output=True)
    document: Document = msgspec.json.decode(done.stdout)
    purl = f"pkg:pypi/policy-bridge@{__version__}"
    document["metadata"]["component"] |= {"type": kind, "version": __version__, "purl": purl}
    for module in msgspec.json.decode(_VENDORED.read_bytes()):
        purl = f"pkg:npm/{module['name'].replace('@', '%40')}@{module['version']}"
        document["components"].append(_component("library", module["name"], module["version"], purl, module["license"]))
    return document


def _component(kind: str, name: str, version: str, purl: str, license_: str = "") -> Document:
    licenses = {"licenses": [{"expression": license_}]} if license_ else {}
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, **licenses}


def base_image() -> str:
    """Return the base image of the Containerfile."""
    found = re.search(r"^ARG PYTHON=(\S+)$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError("Containerfile names no base image by ARG PYTHON=")
    return found[1]


def locked_needs(*extras: str) -> str:
    """Return the lines of requirements.lock, with hashes, for a wheel with these extras on Linux and macOS."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = {canonicalize_name(entry.split("==", 1)[0]): entry for entry in _ENTRY.findall(lock)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    seen: set[NormalizedName] = set()
    waiting = [name for one in _RUNS_ON for name in _needed(wanted, one)]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(PackageNotFoundError):  # needed on another system only
            waiting += [needed for one in _RUNS_ON for needed in _needed(distribution(name).requires or (), one)]
    return "".join(entries[name] for name in sorted(seen))


def _needed(requirements: Iterable[str], system: Mapping[str, str]) -> Iterator[NormalizedName]:
    environment: Mapping[str, Any] = {**default_environment(), "extra": "", **system}
    for line in requirements:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(dict(environment)):
            yield canonicalize_name(requirement.name)


def write_document(file: Path, document: Document) -> None:
    """Write a document. Raises ValueError if it does not match CycloneDX's schema."""
    # Their import takes a second, which every test run would spend on its list of tests.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(msgspec.json.encode(document).decode())
    if found:
        raise ValueError(f"{file.name} is not CycloneDX: {found.data.message}")
    file.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
