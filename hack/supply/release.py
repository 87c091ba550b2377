"""`make release`: build all published files of a release in `dist/`, and check them as far as possible offline."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from bridge import __version__
from bridge.cli.completion import SHELLS
from bridge.opa import executable
from bridge.opa.executable import say
from hack.supply.materials import ROOT, base_image, flaws, image_materials, locked_needs, wheel_materials
from hack.tools import ensure

DIST = ROOT / "dist"
REPOSITORY = "policy-bridge/policy-bridge"
STEM = f"policy-bridge-{__version__}"
CHECKSUMS = "SHA256SUMS"


def release(arguments: Sequence[str] = (), folder: Path = DIST) -> int:
    """Build all files of a release into `folder`, which is emptied before; 1 if one of them is not valid."""
    parser = argparse.ArgumentParser(prog="release")
    parser.add_argument("--repository", default=REPOSITORY, help="OWNER/NAME on GitHub, and below ghcr.io")
    repository = parser.parse_args(arguments).repository
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_checksums_of_opa()
    wheel = _python_packages(folder)
    requirements = folder / f"{STEM}-requirements.txt"
    requirements.write_text(locked_needs(), encoding="utf-8")
    _chart(folder, f"ghcr.io/{repository}")
    _manifests(folder, f"ghcr.io/{repository}")
    _completions(folder)
    shutil.copy(ROOT / "deploy" / "ci" / "gitlab.yml", folder)
    archive = plugin_archive(folder, wheel, requirements)
    (folder / MANIFEST).write_text(plugin_manifest(archive, repository), encoding="utf-8")
    for name, document in {"wheel": wheel_materials(wheel), "image": image_materials(base_image())}.items():
        if flaw := flaws(document):
            say(f"release: the bill of materials of the {name} is not CycloneDX: {flaw}")
            return 1
        _write_json(folder / f"{STEM}.{name}.cdx.json", document)
    statement = provenance(sorted(folder.iterdir()), repository, revision())
    _write_json(folder / f"{STEM}.provenance.json", statement)
    files = sorted(folder.iterdir())
    (folder / CHECKSUMS).write_text("".join(f"{digest(file)}  {file.name}\n" for file in files), encoding="utf-8")
    for file in files:
        say(f"release: {file.name} {file.stat().st_size:,} bytes")
    return 0


def write_checksums_of_opa() -> None:
    """Write the SHA-256 of each file of OPA's pinned release into the package, if downloads are possible."""
    if os.environ.get(executable.DOWNLOADS, "").lower() == "never":
        say(f"release: the wheel has no checksums of OPA: {executable.DOWNLOADS}=never")
        return
    lines = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            listed = Path(scratch) / "sha256"
            for file in executable.RELEASE_FILES.values():
                url = f"{executable.RELEASE}/{file}.sha256"
                executable.fetch(url, listed)
                lines.append(f"{executable.published_checksum(listed.read_text(), file, url)}  {file}\n")
    except OSError as error:
        say(f"release: the wheel has no checksums of OPA: {error}")
    else:
        executable.CHECKSUMS.write_text("".join(lines), encoding="utf-8")


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def revision() -> str:
    """Return the commit of the build; empty outside of a clone."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def _python_packages(folder: Path) -> Path:
    """The source distribution and the wheel, which is returned."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _chart(folder: Path, image: str) -> None:
    """Build the chart archive for `helm install`, with the default image `image`."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(ROOT / "deploy" / "chart", Path(scratch) / "policy-bridge")
        values = copy / "values.yaml"
        values.write_text(_with_image(values.read_text(encoding="utf-8"), image), encoding="utf-8")
        _helm("lint", "--strict", "--quiet", copy, home=Path(scratch))
        _helm("package", copy, "--destination", folder, home=Path(scratch))


def _manifests(folder: Path, image: str) -> None:
    """`deploy/manifests` and the CRDs, each as one file for `kubectl apply -f`."""
    rendered = _kubectl("kustomize", ROOT / "deploy" / "manifests")
    (folder / f"{STEM}.yaml").write_text(_with_image(rendered, image), encoding="utf-8")
    (folder / f"{STEM}-crds.yaml").write_text(_kubectl("kustomize", ROOT / "deploy" / "crds"), encoding="utf-8")


def _with_image(text: str, image: str) -> str:
    shipped = f"ghcr.io/{REPOSITORY}"
    if shipped not in text:
        raise ValueError(f"{shipped} is not the default image any more")
    return text.replace(shipped, image)


def _completions(folder: Path) -> None:
    """Write the scripts of `bridge completion`, for packages that install them into a shell's folders."""
    files: dict[str, bytes] = {}
    for shell in SHELLS:
        command = [str(Path(sys.executable).parent / "bridge"), "completion", shell]
        files[f"bridge.{shell}"] = subprocess.run(command, check=True, capture_output=True).stdout
    write_archive(folder / f"{STEM}-completions.tar.gz", files)


def _helm(*arguments: str | Path, home: Path) -> None:
    folders = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    subprocess.run([ensure("helm").path, *arguments], env=os.environ | folders, check=True, capture_output=True)


def _kubectl(*arguments: str | Path) -> str:
    command: list[str | Path] = [ensure("kubectl").path, *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    yaml.safe_load_all(text)
    return text


def _write_json(file: Path, document: object) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def provenance(files: Sequence[Path], repository: str, revision: str) -> dict[str, Any]:
    """Return the origin of files that are built from a commit on GitHub; "" for an unknown commit.

    An in-toto statement with SLSA's provenance, https://slsa.dev/spec/v1.0/provenance. It is not signed: the release
    workflow has GitHub sign a statement of its own about the same files.
    """
    page = f"https://github.com/{repository}"
    source = {
        "uri": f"git+{page}@refs/tags/v{__version__}",
        **({"digest": {"gitCommit": revision}} if revision else {}),
    }
    lock = {"uri": "file:requirements.lock", "digest": _sha256(ROOT / "requirements.lock")}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": _sha256(file)} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{page}/blob/v{__version__}/Makefile#release",
                "externalParameters": {"version": __version__, "repository": repository},
                "internalParameters": {"python": platform.python_version()},
                "resolvedDependencies": [source, lock],
            },
            "runDetails": {"builder": {"id": f"{page}/blob/v{__version__}/.github/workflows/release.yml"}},
        },
    }


def _sha256(file: Path) -> dict[str, str]:
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


MANIFEST = "bridge.yaml"  # krew wants the plugin's name
LAUNCHER = "kubectl-bridge"
KREW = ROOT / "deploy" / "krew"


def plugin_archive(folder: Path, wheel: Path, requirements: Path) -> Path:
    """Write the kubectl plugin: the launcher, the wheel, and the packages that it needs, with their hashes.

    https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
    """
    files = {
        LAUNCHER: (KREW / LAUNCHER).read_bytes(),
        "requirements.txt": requirements.read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    target = folder / f"{LAUNCHER}-{__version__}.tar.gz"
    write_archive(target, files, executable=[LAUNCHER])
    return target


def plugin_manifest(archive: Path, repository: str) -> str:
    """Return the manifest for an archive in the GitHub release of this version."""
    text = (KREW / f"{MANIFEST}.template").read_text(encoding="utf-8")
    values = {
        "VERSION": __version__,
        "REPOSITORY": repository,
        "ARCHIVE": archive.name,
        "SHA256": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_archive(target: Path, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
    """Write files as a tar.gz without times and owners, so that the same files always have the same digest."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o755 if name in executable else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    target.write_bytes(gzip.compress(content.getvalue(), mtime=0))
