"""CRDs of vendors whose policy kinds have presets: test data from their Go modules, never committed."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bridge.opa.executable import cache_root, locked, new_folder, write_source
from hack.tools.building import download_module, find_go
from hack.tools.progress import step


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
    texts = [file.read_text() for file in sorted(_folder(vendor).glob("*.yaml"))]
    documents = [doc for text in texts for doc in yaml.safe_load_all(text) if doc]
    return {
        f"{doc['spec']['group']}/{doc['spec']['names']['kind']}": doc
        for doc in documents
        if doc["kind"] == "CustomResourceDefinition"
    }


def _folder(vendor: Vendor) -> Path:
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
