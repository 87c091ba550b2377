"""Manifests to apply to the objects of an OPA."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.model.changes import Object, Trouble
from bridge.model.keys import Key, key_of
from bridge.opa.client import Opa
from bridge.opa.paths import pointer
from bridge.replicator.pruning import prune
from bridge.sources.manifest_files import STDIN
from bridge.sources.manifests import ManifestSource


@dataclass(frozen=True, slots=True)
class Applied:
    """Objects with the API server's defaults, and the errors of the manifests."""

    objects: list[Object]
    keys: frozenset[Key]
    problems: list[Trouble]
    source: ManifestSource

    def position(self, key: Key) -> tuple[str, int] | None:
        """Return the file and line of an object; None if it is not among these."""
        return self.source.position(key)


def read_applied(files: Sequence[str], crds: Sequence[Object]) -> Applied:
    """Read manifests; `crds` describe kinds that they do not define themselves.

    Raises ManifestError for a missing path.
    """
    source = ManifestSource(files, follow=False, crds=crds)
    objects = [prune(obj) for obj in source.load()]
    return Applied(objects, frozenset(key_of(obj) for obj in objects), source.problems, source)


def read_pasted(content: bytes, crds: Sequence[Object]) -> Applied:
    """Do the same for manifests as text."""
    source = ManifestSource([STDIN], follow=False, crds=crds)
    objects = [prune(obj) for obj in source.load(io.BytesIO(content))]
    return Applied(objects, frozenset(key_of(obj) for obj in objects), source.problems, source)


async def held_crds(opa: Opa) -> list[Object]:
    """Return the CRDs in an OPA."""
    held = await opa.get(pointer("objects", "apiextensions.k8s.io", "CustomResourceDefinition", "-"))
    return list((held or {}).values())


async def held_keys(opa: Opa) -> list[Key]:
    """Return the keys of all objects in an OPA."""
    held = await opa.query("resource_versions", {})
    return [
        Key(group, kind, namespace, name)
        for group, kinds in held.items()
        for kind, namespaces in kinds.items()
        for namespace, names in namespaces.items()
        for name in names
    ]
