"""What an API server knows about an object besides the object: its Events, and what files have set on it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.kube.discovery import Discovery
from bridge.kube.kube_errors import KubeError
from bridge.kube.recording import events_about
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.nesting import as_mapping

if TYPE_CHECKING:
    from bridge.kube.kube_client import KubeClient

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FIELDS = ("labels", "annotations")


class ObjectDetails:
    """Reads them from an API server, which queries discovery once."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._discovery = Discovery(client)

    async def events(self, key: Key) -> list[dict[str, Any]]:
        """Return the Events about an object; none to users without permission to list them, who get the rest."""
        with contextlib.suppress(KubeError):
            return await events_about(self._client, key)
        return []

    async def applied_names(self, key: Key) -> Mapping[str, AbstractSet[str]] | None:
        """Return the labels and annotations that files set on an object; None if it cannot be read.

        An apply removes those that a file lacks.
        """
        try:
            if not self._discovery.types:
                await self._discovery.refresh()
            served = self._discovery.types.get(key.type_id)
            if served is None:
                return None
            return applied_names(await self._client.get(served.object_path(key.namespace, key.name)))
        except KubeError:
            return None


def applied_names(obj: Object) -> dict[str, set[str]]:
    """Return the names of `labels` and of `annotations` that an apply recorded.

    `kubectl apply` records them in an annotation, a server-side apply in managedFields.
    """
    metadata = obj["metadata"]
    names: dict[str, set[str]] = {field: set() for field in _FIELDS}
    for entry in metadata.get("managedFields") or ():
        if entry.get("operation") == "Apply" and not entry.get("subresource"):
            managed = as_mapping(as_mapping(entry.get("fieldsV1")).get("f:metadata"))
            for field in _FIELDS:
                names[field] |= {name[2:] for name in as_mapping(managed.get(f"f:{field}")) if name.startswith("f:")}
    last = as_mapping(as_mapping(_decode(as_mapping(metadata.get("annotations")).get(_LAST_APPLIED))).get("metadata"))
    for field in _FIELDS:
        names[field].update(as_mapping(last.get(field)))
    return names


def _decode(text: Any) -> Any:
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
