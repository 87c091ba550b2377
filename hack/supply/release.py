"""`make release`: all published files of a release, checked as far as possible offline; `make sbom`: its components."""

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import yaml

from bridge import __version__
from bridge.cli.completion import SHELLS
from bridge.opa import executable
from bridge.opa.executable import say
from hack.manifests.parts import helm
from hack.supply.materials import ROOT, base_image, image_materials, locked_needs, wheel_materials, write_document
from hack.tools import ensure

DIST = ROOT / "dist"
REPOSITORY = "policy-bridge/policy-bridge"
OUTPUT = ROOT / ".make" / "sbom"
STEM = f"policy-bridge-{__version__}"
CHECKSUMS = "SHA256SUMS"
MANIFEST = "bridge.yaml"  # krew wants the plugin's name
LAUNCHER = "kubectl-bridge"
KREW = ROOT / "deploy" / "krew"


def release(arguments: Sequence[str] = (), folder: Path = DIST) -> int:
    """Build all files of a release into `folder`, which is emptied before. Raises an error if one is not valid."""
    parser = argparse.ArgumentParser(prog="release")
    parser.add_argument("--repository", default=REPOSITORY, help="OWNER/NAME on GitHub, and below ghcr.io")
    repository = parser.parse_args(arguments).repository
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_checksums_of_opa()
    wheel = build_wheel(folder, "wheel", "sdist")
    requirements = folder / f"{STEM}-requirements.txt"
    requirements.write_text(locked_needs(), encoding="utf-8")
    _charts(folder, f"ghcr.io/{repository}")
    _manifests(folder, f"ghcr.io/{repository}")
    _completions(folder)
    shutil.copy(ROOT / "deploy" / "ci" / "gitlab.yml", folder)
    archive = plugin_archive(folder, wheel, requirements)
    (folder / MANIFEST).write_text(plugin_manifest(archive, repository), encoding="utf-8")
    _write_materials(wheel, folder, f"{STEM}.")
    files = sorted(folder.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
    for file in files:
        say(f"release: {file.name} {file.stat().st_size:,} bytes")
    return 0


def sbom() -> int:
    """Write both bills of materials."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _write_materials(build_wheel(Path(folder), "wheel"), OUTPUT)
    return 0


def _write_materials(wheel: Path, folder: Path, prefix: str = "") -> None:
    for name, document in {"wheel": wheel_materials(wheel), "image": image_materials(wheel, base_image())}.items():
        file = folder / f"{prefix}{name}.cdx.json"
        write_document(file, document)
        say(f"sbom: {file}, {len(document['components'])} components")


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


def build_wheel(folder: Path, *targets: str) -> Path:
    """Build the wheel, or these targets, into a folder; return the wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    command += [argument for target in targets for argument in ("-t", target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _charts(folder: Path, image: str) -> None:
    """Build the archives for `helm install`: of the bridge, with the default image `image`, and of an edge."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(ROOT / "deploy" / "chart", Path(scratch) / "policy-bridge")
        values = copy / "values.yaml"
        values.write_text(_with_image(values.read_text(encoding="utf-8"), image), encoding="utf-8")
        helm("lint", "--strict", "--quiet", copy, home=Path(scratch))
        for chart in (copy, ROOT / "deploy" / "edge"):
            helm("package", chart, "--destination", folder, home=Path(scratch))


def _manifests(folder: Path, image: str) -> None:
    """`deploy/manifests` and the CRDs, each as one file for `kubectl apply -f`."""
    (folder / f"{STEM}.yaml").write_text(_with_image(_kustomized("manifests"), image), encoding="utf-8")
    (folder / f"{STEM}-crds.yaml").write_text(_kustomized("crds"), encoding="utf-8")


def _kustomized(name: str) -> str:
    command: list[str | Path] = [ensure("kubectl").path, "kustomize", ROOT / "deploy" / name]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert all(yaml.safe_load_all(text))
    return text


def _with_image(text: str, image: str) -> str:
    shipped = f"ghcr.io/{REPOSITORY}"
    if shipped not in text:
        raise ValueError(f"{shipped} is not the default image any more")
    return text.replace(shipped, image)


def _completions(folder: Path) -> None:
    """Write the scripts of `pbctl completion`, for packages that install them into a shell's folders."""
    files: dict[str, bytes] = {}
    for shell in SHELLS:
        command = [str(Path(sys.executable).parent / "pbctl"), "completion", shell]
        files[f"pbctl.{shell}"] = subprocess.run(command, check=True, capture_output=True).stdout
    write_archive(folder / f"{STEM}-completions.tar.gz", files)


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


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    sys.exit(release(arguments) if command == "release" else sbom())
