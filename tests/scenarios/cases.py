"""Scenarios as data: what is in `objects.yaml`, and what `expected.yaml` says of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.sources.manifests import ManifestSource

HERE = Path(__file__).parent
GATEWAY_API_GROUPS = ("gateway.networking.k8s.io", "policybridge.io", "core", "apiextensions.k8s.io")


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario. Its namespaces, class and policy group are its own, so that all can stand in one cluster."""

    name: str
    folder: Path

    @property
    def manifest(self) -> Path:
        """The file with its objects."""
        return self.folder / "objects.yaml"

    def objects(self) -> list[Object]:
        """Its objects, with the API server's defaults."""
        return ManifestSource([self.manifest], follow=False).load()

    def raw(self) -> list[Object]:
        """Its objects as written."""
        return [doc for doc in yaml.safe_load_all(self.manifest.read_text()) if doc]

    def outcomes(self) -> list[dict[str, Any]]:
        """What is expected, one sentence and one check each."""
        found: list[dict[str, Any]] = yaml.safe_load((self.folder / "expected.yaml").read_text())["outcomes"]
        return found

    def policy_kinds(self) -> set[str]:
        """The policy kinds that it describes, `<group>/<Kind>`."""
        return {f"{obj['spec']['group']}/{obj['spec']['kind']}" for obj in self.raw() if obj["kind"] == "PolicyKind"}

    def policies(self) -> dict[str, str]:
        """The keys of its policies by their names."""
        keys = [key_of(obj) for obj in self.objects()]
        return {key.name: str(key) for key in keys if key.type_id in self.policy_kinds()}


def all_cases() -> list[Case]:
    """Every scenario, by name."""
    return [Case(folder.parent.name, folder.parent) for folder in sorted(HERE.glob("*/objects.yaml"))]
