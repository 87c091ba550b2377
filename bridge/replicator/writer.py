"""Objects with their links into OPA, each batch as one transaction."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.paths import pointer
from bridge.replicator.documents import Documents
from bridge.replicator.linking import Linking
from bridge.replicator.skeleton import Path

MARKER = "bridge_state"  # the document by which the bridge knows its own OPA: {epoch, filled}


class Before(NamedTuple):
    """What OPA had of an object before a write: its essence (None: nothing) and its index paths."""

    essence: int | None
    paths: tuple[Path, ...]


class Writer:
    """Writes objects into one OPA, and knows what it holds. All methods raise OpaError where OPA does not take it."""

    def __init__(self, opa: Opa) -> None:
        self.documents = Documents()
        self.linking = Linking(opa)
        self._opa = opa
        self._epoch = ""
        self._beginning = False

    def begin(self) -> None:
        """The next write replaces all that OPA has."""
        self._epoch = uuid.uuid4().hex
        self._beginning = True
        self.documents.begin()

    async def finish(self) -> None:
        """Mark what was written since `begin` as whole. An OPA that was restarted meanwhile has nothing to mark."""
        value = {"epoch": self._epoch, "filled": True}
        await self._opa.patch([{"op": "replace", "path": pointer(MARKER), "value": value}])
        self.linking.forget()

    async def probe(self) -> None:
        """Raise OpaError unless OPA has the mark of `finish`."""
        if await self._opa.get(MARKER) != {"epoch": self._epoch, "filled": True}:
            raise OpaError("OPA does not hold what was written: it was restarted, or somebody else fills it")

    async def write(self, batch: dict[Key, Object | None]) -> dict[Key, Before]:
        """Write what differs from what OPA holds, as one transaction; gives the objects that do, as they were.

        None stands for an object that is gone.
        """
        upserts: dict[Key, Object] = {}
        deletes: list[Key] = []
        for key, obj in batch.items():
            known = self.documents.version(key)
            if obj is None:
                if known is not None:
                    deletes.append(key)
            elif not known or known != obj["metadata"].get("resourceVersion"):
                upserts[key] = obj
        links = await self.linking.of(upserts)
        written: dict[Key, Before] = {}
        for key in (*deletes, *upserts):
            written[key] = Before(self.documents.essence(key), self.documents.index_paths(key))
        for key in deletes:
            self.documents.remove(key)
        for key, obj in upserts.items():
            self.documents.put(key, obj, links.get(key, []))
        await self._send()
        return written

    async def _send(self) -> None:
        operations = self.documents.take_plan()
        if self._beginning:
            value = {"epoch": self._epoch, "filled": False}
            operations.append({"op": "add", "path": pointer(MARKER), "value": value})
        if operations:
            await self._opa.patch(operations)
        self._beginning = False
