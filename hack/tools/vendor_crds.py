"""The CRDs of Gateway API and of vendors, from their Go modules: Go checks each by its checksum database."""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.opa.executable import ToolError, cache_root, locked, new_folder, say, write_source
from hack.tools import quick_yaml
from hack.tools.building import download_module

GATEWAY_API_VERSION = "1.7.0"
CHANNELS = ("standard", "experimental")


@dataclass(frozen=True)
class Vendor:
    """A Go module at a version, and its files with CRDs: `files` matches a path, of which its groups are kept."""

    name: str
    title: str
    module: str
    version: str
    files: str


# One CRD a file; the channels also have an admission policy and lists for kustomize, which are not wanted.
_GATEWAY_API = Vendor(
    "gateway-api",
    "Gateway API",
    "sigs.k8s.io/gateway-api",
    f"v{GATEWAY_API_VERSION}",
    rf"config/crd/({'|'.join(CHANNELS)})/(gateway\.networking\.(?:x-)?k8s\.io_(?!vap_)[a-z]+\.yaml)$",
)
VENDORS = (
    Vendor(
        "envoy-gateway",
        "Envoy Gateway",
        "github.com/envoyproxy/gateway",
        "v1.9.1",
        r"/charts/gateway-helm/charts/crds/crds/generated/([^/]+\.yaml)$",
    ),
    Vendor("istio", "Istio", "istio.io/api", "v1.31.1", r"/kubernetes/(customresourcedefinitions\.gen\.yaml)$"),
    Vendor(
        "kuadrant", "Kuadrant", "github.com/kuadrant/kuadrant-operator", "v1.4.2", r"/config/crd/bases/([^/]+\.yaml)$"
    ),
    Vendor(
        "network-policy-api",
        "Network Policy API",
        "sigs.k8s.io/network-policy-api",
        "v0.1.7",
        r"/config/crd/experimental/(policy\.[^/]+\.yaml)$",
    ),
)


def find_crds() -> Path | None:
    """Return the cached folder with `standard/` and `experimental/`, one CRD per YAML file, or None."""
    folder = _gateway_api_folder()
    return folder if all((folder / channel).is_dir() for channel in CHANNELS) else None


def ensure_crds() -> Path:
    """Return the same folder, and fetch it if it is missing. Raises ToolError."""
    return find_crds() or _fetched(_GATEWAY_API, _gateway_api_folder())


def crds_of(vendor: Vendor) -> dict[str, dict[str, Any]]:
    """Return the CRDs of a vendor by `<group>/<Kind>`, from the cache or the module. Raises ToolError."""
    folder = _fetched(vendor, cache_root() / "vendor-crds" / f"{vendor.name}-{vendor.version}")
    texts = [file.read_text() for file in sorted(folder.glob("*.yaml"))]
    documents = [doc for text in texts for doc in quick_yaml.load_all(text) if doc]
    return {
        f"{doc['spec']['group']}/{doc['spec']['names']['kind']}": doc
        for doc in documents
        if doc["kind"] == "CustomResourceDefinition"
    }


def _gateway_api_folder() -> Path:
    return cache_root() / "gateway-api" / GATEWAY_API_VERSION


def _fetched(vendor: Vendor, folder: Path) -> Path:
    """Return the folder, with the module's CRDs."""
    with locked(f"{vendor.name}-crds-{vendor.version}"):
        if not folder.is_dir():
            _fetch(vendor, folder)
    return folder


def _fetch(vendor: Vendor, folder: Path) -> None:
    module = f"{vendor.module}@{vendor.version}"
    say(f"CRDs of {vendor.title}: fetching the Go module {module}")
    with new_folder(folder) as temporary:
        # The zip and not the unpacked folder: a Go older than the module requires fetches it, but does not unpack it.
        with zipfile.ZipFile(download_module(module, temporary)["Zip"]) as zipped:
            for name in zipped.namelist():
                if match := re.search(vendor.files, name):
                    target = temporary.joinpath(*match.groups())
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(zipped.read(name))
        if not any(temporary.rglob("*.yaml")):
            raise ToolError(f"{module} has no CRDs that match {vendor.files}")
        write_source(temporary, f"Go module {module}")
