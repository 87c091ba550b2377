"""The bridge's own modules and data: the shipped Rego, presets and schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from bridge.opa.bundle import Bundle, build_bundle
from bridge.opa.reached_rules import Prepared, prepare, reached
from bridge.resources import crds_root


@dataclass(frozen=True, slots=True)
class Shipped:
    """The content of every bundle: modules by path, data, and the parts of `data` that they own."""

    modules: Mapping[str, str]
    data: Mapping[str, Any]
    roots: frozenset[str]


_NONE: Mapping[str, Any] = MappingProxyType({})

# Not below `data.bridge`: at each activation OPA copies a document with packages in it, once for each of their rules.
SETTINGS = "bridge_settings"


def shipped(
    root: Path,
    bounds: Mapping[str, int] = _NONE,
    versions: Mapping[str, str] = _NONE,
    queries: Iterable[str] | None = None,
) -> Shipped:
    """Return the modules below `root/bridge` without tests, and `data.bridge_settings`.

    The settings are `{presets, schemas, bounds, versions}`: `presets` are policy kinds by file name, `schemas` the
    schemas of `spec` of the bridge's own kinds. `bounds` limit the size of a policy (the Rego has defaults for missing
    ones), `versions` are those of types that are not read in the API server's preferred version.
    With `queries` the modules have only the rules that these reach.

    Other folders are not part of a bundle: OPA gets them as files (`bridge.resources.authorization_policy`). The
    modules own only their packages: `bridge.strategies` and `bridge.extensions` are for others' modules.
    """
    modules, prepared = _files(root)
    if queries is not None:
        modules = reached(prepared.modules, queries)
    packages = {"/".join(path.removesuffix(".rego").split("/")[:2]) for path in modules}
    data = {SETTINGS: {**prepared.data, "bounds": dict(bounds), "versions": dict(versions)}}
    return Shipped(modules, data, frozenset({*packages, SETTINGS}))


@cache
def _files(root: Path) -> tuple[Mapping[str, str], Prepared]:
    """Return the modules by path, and their prepared form with `{presets, schemas}`, as of the first call."""
    modules = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted((root / "bridge").rglob("*.rego"))
        if not path.name.endswith("_test.rego")
    }
    paths = (*sorted((root / "bridge/kinds/presets").glob("*.yaml")), *sorted(crds_root().glob("*.yaml")))
    return modules, prepare(modules, {path: path.read_bytes() for path in paths}, _described)


def _described(files: Mapping[Path, bytes]) -> dict[str, Any]:
    read = {path: yaml.safe_load(content)["spec"] for path, content in files.items()}
    crds = [spec for path, spec in read.items() if path.parent == crds_root()]
    return {
        "presets": {path.stem: spec for path, spec in read.items() if path.parent != crds_root()},
        "schemas": {
            crd["names"]["kind"]: crd["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] for crd in crds
        },
    }


def shipped_bundle(root: Path, bounds: Mapping[str, int] = _NONE, queries: Iterable[str] | None = None) -> Bundle:
    """Return the bundle of an OPA without submissions; `bounds` and `queries` are those of `shipped`."""
    found = shipped(root, bounds, queries=queries)
    return build_bundle(found.modules, found.data, found.roots)
