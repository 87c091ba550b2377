"""Gateway API's CRDs, standard and experimental, from its Go module or its release."""

from __future__ import annotations

import hashlib
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bridge.opa.executable import ToolError, cache_root, locked, new_folder, say, write_source
from hack.tools.building import BuildError, ChecksumError, DownloadError, download_module, find_go, step
from hack.tools.catalog import GATEWAY_API_DIGEST, GATEWAY_API_VERSION
from hack.tools.releases import fetch_file

CRDS = "gateway-api-crds"  # their name among the tools
CHANNELS = ("standard", "experimental")

_MODULE = f"sigs.k8s.io/gateway-api@v{GATEWAY_API_VERSION}"
_RELEASE = f"https://github.com/kubernetes-sigs/gateway-api/archive/refs/tags/v{GATEWAY_API_VERSION}.tar.gz"
# One CRD a file; the channels also hold an admission policy and lists for kustomize, which are not wanted.
_CRD = re.compile(rf"config/crd/({'|'.join(CHANNELS)})/(gateway\.networking\.(?:x-)?k8s\.io_(?!vap_)[a-z]+\.yaml)$")


def find_crds() -> Path | None:
    """Return the cached folder with `standard/` and `experimental/`, one CRD per YAML file, or None."""
    folder = _folder()
    return folder if all((folder / channel).is_dir() for channel in CHANNELS) else None


def ensure_crds() -> Path:
    """Return the same folder, and download it if it is missing.

    Raises ToolError when neither Go nor a download gives it, and ToolError when the cache cannot be written.
    """
    if folder := find_crds():
        return folder
    with locked(f"{CRDS}-{GATEWAY_API_VERSION}"):
        return find_crds() or _install()


def digest_of(files: dict[str, bytes]) -> str:
    """Return one sha256 for a set of files by name, as the catalog pins it."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _folder() -> Path:
    return cache_root() / "gateway-api" / GATEWAY_API_VERSION


def _install() -> Path:
    failures = []
    for way in (_from_module, _from_release):
        try:
            with new_folder(_folder()) as temporary:
                files, source = way(temporary)
                found = digest_of(files)
                if found != GATEWAY_API_DIGEST:
                    raise ChecksumError(f"the CRDs of {source} have the digest {found}, not {GATEWAY_API_DIGEST}")
                _write(files, temporary)
                write_source(temporary, source)
        except (DownloadError, BuildError) as error:
            failures.append(str(error))
            say(f"{CRDS}: {error}")
        else:
            return _folder()
    raise ToolError(
        f"the Gateway API {GATEWAY_API_VERSION} CRDs could not be fetched ({'; '.join(failures)}). "
        "Give this machine internet or Go, and run it again"
    )


def _from_module(folder: Path) -> tuple[dict[str, bytes], str]:
    go = find_go()
    with step(f"{CRDS}: fetching the Go module {_MODULE}"):
        # The zip and not the unpacked folder: a Go older than the module wants fetches it, but does not unpack it.
        archive = Path(download_module(go, _MODULE, folder)["Zip"])
    return dict(_crds_in_zip(archive)), f"Go module {_MODULE}"


def _from_release(folder: Path) -> tuple[dict[str, bytes], str]:
    archive = folder / "release.tar.gz"
    try:
        with step(f"{CRDS}: downloading {_RELEASE}"):
            fetch_file(_RELEASE, archive)
        return dict(_crds_in_tar(archive)), f"release {_RELEASE}"
    finally:
        archive.unlink(missing_ok=True)


def _crds_in_zip(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as zipped:
        for name in zipped.namelist():
            if match := _CRD.search(name):
                yield "/".join(match.groups()), zipped.read(name)


def _crds_in_tar(archive: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(archive) as tarred:
            for member in tarred:
                match = _CRD.search(member.name)
                stream = tarred.extractfile(member) if match else None
                if match and stream:
                    yield "/".join(match.groups()), stream.read()
    except tarfile.TarError as error:
        raise DownloadError(f"{_RELEASE} is no archive: {error}") from error


def _write(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(content)


@dataclass(frozen=True)
class Vendor:
    """A Go module at a version, and its files with CRDs. Go checks the module's digest (sum.golang.org)."""

    name: str
    title: str
    module: str
    version: str
    files: str


VENDORS = (
    Vendor(
        "envoy-gateway",
        "Envoy Gateway",
        "github.com/envoyproxy/gateway",
        "v1.9.1",
        r"/charts/gateway-helm/charts/crds/crds/generated/[^/]+\.yaml$",
    ),
    Vendor("istio", "Istio", "istio.io/api", "v1.31.1", r"/kubernetes/customresourcedefinitions\.gen\.yaml$"),
    Vendor(
        "kuadrant", "Kuadrant", "github.com/kuadrant/kuadrant-operator", "v1.4.2", r"/config/crd/bases/[^/]+\.yaml$"
    ),
    Vendor(
        "network-policy-api",
        "Network Policy API",
        "sigs.k8s.io/network-policy-api",
        "v0.1.7",
        r"/config/crd/experimental/policy\.[^/]+\.yaml$",
    ),
)


def crds_of(vendor: Vendor) -> dict[str, dict[str, Any]]:
    """Return the CRDs of a vendor by `<group>/<Kind>`, from the cache or the module. Raises ToolError."""
    texts = [file.read_text() for file in sorted(_vendor_folder(vendor).glob("*.yaml"))]
    documents = [doc for text in texts for doc in yaml.safe_load_all(text) if doc]
    return {
        f"{doc['spec']['group']}/{doc['spec']['names']['kind']}": doc
        for doc in documents
        if doc["kind"] == "CustomResourceDefinition"
    }


def _vendor_folder(vendor: Vendor) -> Path:
    folder = cache_root() / "vendor-crds" / f"{vendor.name}-{vendor.version}"
    if not folder.is_dir():
        with locked(f"vendor-crds-{vendor.name}-{vendor.version}"):
            if not folder.is_dir():
                _fetch(vendor, folder)
    return folder


def _fetch(vendor: Vendor, folder: Path) -> None:
    module = f"{vendor.module}@{vendor.version}"
    with new_folder(folder) as temporary, step(f"CRDs of {vendor.name}: fetching the Go module {module}"):
        archive = Path(download_module(find_go(), module, temporary)["Zip"])
        with zipfile.ZipFile(archive) as zipped:
            for name in zipped.namelist():
                if re.search(vendor.files, name):
                    (temporary / Path(name).name).write_bytes(zipped.read(name))
        write_source(temporary, f"Go module {module}")
