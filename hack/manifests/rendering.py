"""Render the chart with a real helm, and parse its objects."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hack.tools import find

Objects = list[dict[str, Any]]


class HelmError(Exception):
    """Helm failed; the text is its message."""


def helm(*arguments: str | Path, home: Path) -> str:
    """Run helm and return its output; helm may write below `home`. Raises HelmError."""
    found = find("helm")
    if found is None:
        raise HelmError("helm is missing: `make setup-test` gets it")
    folders = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    answer = subprocess.run(
        [found.path, *arguments],
        env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"} | folders,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if answer.returncode != 0:
        raise HelmError(answer.stderr)
    return answer.stdout


def template(
    chart: Path,
    home: Path,
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "policy-bridge",
    namespace: str = "policy-bridge",
    api_versions: str = "",
) -> Objects:
    """Return the objects of a release for a cluster that also serves `api_versions`. Raises HelmError."""
    home.mkdir(exist_ok=True)
    file = home / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values or {})))
    served = ["--api-versions", api_versions] if api_versions else []
    text = helm("template", release, chart, "--namespace", namespace, "--values", file, *served, home=home)
    return [one for one in yaml.safe_load_all(text) if one]


def one(objects: Objects, kind: str, name: str = "policy-bridge", namespace: str | None = None) -> dict[str, Any]:
    """Return the object of this kind and name."""
    (found,) = [
        obj
        for obj in objects
        if obj["kind"] == kind
        and obj["metadata"]["name"] == name
        and namespace in {None, obj["metadata"].get("namespace")}
    ]
    return found
