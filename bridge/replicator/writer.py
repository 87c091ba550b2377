"""Objects with their links into OPA, each object as one transaction with its links, many of them in one write."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.opa.client import Opa
from bridge.replicator.claim import Claim
from bridge.replicator.documents import Documents
from bridge.replicator.linking import Linking
from bridge.replicator.skeleton import Path

MOST_OPERATIONS = 500  # a write: OPA's cost grows with their square, and everybody else waits meanwhile
MOST_BYTES = 32 << 20  # a write: OPA takes 256 MiB, and its memory peaks at several times the body


class Before(NamedTuple):
    """What OPA had of an object before a write: its essence (None: nothing) and its index paths."""

    essence: int | None
    paths: tuple[Path, ...]


class Writer:
    """Writes objects into one OPA, and knows what it holds. Methods wait and raise as those of `Claim`."""

    def __init__(self, opa: Opa, claim: Claim) -> None:
        self.documents = Documents()
        self.linking = Linking(opa)
        self._opa = opa
        self._claim = claim
        self._filled = False
        self._begun = False

    async def begin(self) -> None:
        """The next write replaces all that OPA has. Another bridge that fills it is waited for."""
        await self._claim.take()
        self._filled = self._begun = False
        self.documents.begin()

    async def finish(self) -> None:
        """Mark what was written since `begin` as whole."""
        self._filled = True
        await self._send()
        self.linking.forget()

    async def probe(self) -> None:
        """Move the marker, which shows that OPA holds what was written, and others that somebody fills it."""
        if self._begun:
            await self._send()

    async def ask(self, query: str) -> Any:
        """The answer to a query without input, from an OPA that holds what was written."""
        return await self._claim.ask(lambda: self._opa.query(query, {}))

    async def put_kinds(self, kinds: dict[str, Any]) -> None:
        """Store the policy kinds in force."""
        self.documents.put_kinds(kinds)
        await self._send()

    async def write(self, batch: dict[Key, Object | None]) -> dict[Key, Before]:
        """Write what differs from what OPA holds; gives the objects that do, as they were.

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
        links = await self._claim.ask(lambda: self.linking.of(upserts))
        written: dict[Key, Before] = {}
        for key in (*deletes, *upserts):
            written[key] = Before(self.documents.essence(key), self.documents.index_paths(key))
        for key in deletes:
            self.documents.remove(key)
            await self._send_what_is_much()
        for key, obj in upserts.items():
            self.documents.put(key, obj, links.get(key, []))
            await self._send_what_is_much()
        if self.documents.planned or not self._begun:
            await self._send()
        return written

    async def _send_what_is_much(self) -> None:
        if self.documents.planned >= MOST_OPERATIONS or self.documents.planned_bytes >= MOST_BYTES:
            await self._send()

    async def _send(self) -> None:
        await self._claim.write(self.documents.take_plan(), filled=self._filled)
        self._begun = True
