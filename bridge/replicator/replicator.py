"""The replicator: change -> links -> one write, and OPA filled again when it turns out to hold something else."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterable
from typing import Any

import structlog

from bridge.model.changes import Change, Deleted, Listed, Listing, Mended, Object, Trouble, Upserted
from bridge.model.keys import Key, parse_key
from bridge.model.notice import Listener, Notice
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUndefined
from bridge.replicator.documents import Documents, entries_of
from bridge.replicator.pending import Pending
from bridge.sources.base import Source

log = structlog.get_logger(__name__)

MARKER = "bridge_state"  # the document by which the bridge knows its own OPA
BATCH = 100  # objects a write: OPA's cost grows with the square of a patch's operations
FIRST_BATCH = 100_000  # objects in a first fill, where large values make few operations
LINKS_BATCH = 1_000  # objects a `links` query
GATHER = 10.0  # seconds that a first fill waits for types that say nothing
PATIENCE = 3.0  # seconds that an OPA may take to start before anybody is told
PROBE = 2.0  # seconds between two looks at the marker
POLICY_KIND = "policybridge.io/PolicyKind"
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
_DESCRIBING = {POLICY_KIND, CRD}  # a change of one of these may change the policy kinds in force


class Replicator:
    """Keeps OPA's documents equal to a source. `run` does the work until it is cancelled.

    `types` are the kinds (`<group>/<Kind>`) that are always replicated; policy kinds in force join them. Listeners are
    told after OPA holds a change. `filled` is set while OPA holds everything that the source has told.
    """

    def __init__(self, source: Source, opa: Opa, types: Iterable[str]) -> None:
        self.filled = asyncio.Event()
        self.troubles: dict[str, str] = {}
        self._source = source
        self._opa = opa
        self._types = frozenset(types)
        self._documents = Documents()
        self._pending = Pending(self._documents.keys_of)
        self._wake = asyncio.Event()
        self._listeners: list[Listener] = []
        self._epoch = ""
        self._awaited: set[str] = set()  # types that the first fill still waits for
        self._listing: set[str] = set()
        self._started: set[str] = set()
        self._exhausted = False

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each write."""
        self._listeners.append(listener)

    def __len__(self) -> int:
        return len(self._documents)

    async def run(self) -> None:
        """Follow the source and write to OPA until cancelled; an OPA that is away or empty is waited for and filled."""
        self._want(self._types)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._keep_filled())

    async def _follow(self) -> None:
        async for change in self._source.changes():
            self._note(change)
            # After everything was asked for anew, what comes before a type's listing is left over from before.
            if not isinstance(change, Upserted | Deleted | Listed) or change.type_id in self._started:
                self._pending.take_in(change)
            self._wake.set()
        # A folder that is not followed has told all there is.
        self._exhausted = True
        self._awaited.clear()
        self._wake.set()

    def _note(self, change: Change) -> None:
        match change:
            case Listing(type_id):
                self._listing.add(type_id)
                self._started.add(type_id)
            case Listed(type_id) if type_id in self._started:
                self._listing.discard(type_id)
                self._awaited.discard(type_id)
                if self.troubles.pop(type_id, None):
                    log.info("delivers again", subject=type_id)
            case Trouble(subject, message):
                self._listing.discard(subject)
                self._awaited.discard(subject)
                if self.troubles.get(subject) != message:
                    log.warning("delivers nothing", subject=subject, why=message)
                self.troubles[subject] = message
            case Mended(subject):
                if self.troubles.pop(subject, None):
                    log.info("is mended", subject=subject)
            case _:
                pass

    async def _keep_filled(self) -> None:
        while True:
            await self._modules_in_force()
            try:
                await self._fill()
                await self._follow_up()
            except OpaError as error:
                if self._exhausted:
                    raise
                log.warning("OPA must be filled again", why=str(error))
                self.filled.clear()
                self._start_over()

    def _start_over(self) -> None:
        self._pending.clear()
        self._listing.clear()
        self._started.clear()
        self._want(self._types)
        self._source.relist()

    async def _modules_in_force(self) -> None:
        """Wait for an OPA that answers and has the bridge's Rego; say once what it waits for."""
        said = ""
        since = asyncio.get_running_loop().time()
        while True:
            try:
                await self._opa.query("links", {"objects": []})
                return
            except OpaUndefined:
                why = "OPA has not loaded the bridge's modules: start it with what `bridge opa-config` prints"
            except OpaError as error:
                why = str(error)
            if why != said and asyncio.get_running_loop().time() - since > PATIENCE:
                log.info("waiting for OPA", why=why)
                said = why
            await asyncio.sleep(0.1)

    async def _fill(self) -> None:
        """Everything that the source tells first, in as few operations as can be."""
        await self._gathered()
        self._epoch = uuid.uuid4().hex
        self._documents.begin()
        await self._write(self._pending.take_out(FIRST_BATCH))
        while len(self._pending):
            await self._write(self._pending.take_out(FIRST_BATCH))
        await self._describe()
        await self._gathered()  # the types of policy kinds that were not known before
        while len(self._pending):
            await self._write(self._pending.take_out(FIRST_BATCH))
        await self._opa.put(MARKER, {"epoch": self._epoch})
        self.filled.set()
        log.info("OPA is filled", objects=len(self._documents))
        self._tell(Notice(refilled=True))

    async def _gathered(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GATHER):
                while self._awaited or self._listing:
                    self._wake.clear()
                    await self._wake.wait()

    async def _follow_up(self) -> None:
        """Write changes as they come; look at the marker when there are none for a while."""
        while True:
            self._wake.clear()
            if not len(self._pending):
                try:
                    async with asyncio.timeout(PROBE):
                        await self._wake.wait()
                except TimeoutError:
                    await self._probe()
                    continue
            batch = self._pending.take_out(BATCH)
            before = {key: (self._documents.essence(key), self._documents.index_paths(key)) for key in batch}
            written = await self._write(batch)
            keys = [key for key in written if before[key][0] != self._documents.essence(key)]
            if any(key.type_id in _DESCRIBING for key in keys):
                await self._describe()
            if written:
                reported = set(written).difference(keys)
                was = {key: before[key][1] for key in keys if before[key][1]}
                self._tell(Notice(tuple(keys), tuple(reported), was))

    async def _probe(self) -> None:
        marker = await self._opa.get(MARKER)
        if not isinstance(marker, dict) or marker.get("epoch") != self._epoch:
            raise OpaError("OPA does not hold what was written: it was restarted, or another one answers")

    async def _write(self, batch: dict[Key, Object | None]) -> list[Key]:
        """Write what differs from what OPA holds, as one transaction; the keys of that."""
        upserts: dict[Key, Object] = {}
        deletes: list[Key] = []
        for key, obj in batch.items():
            known = self._documents.version(key)
            if obj is None:
                if known is not None:
                    deletes.append(key)
            elif not known or known != obj["metadata"].get("resourceVersion"):
                upserts[key] = obj
        links = await self._links(upserts)
        for key in deletes:
            self._documents.remove(key)
        for key, obj in upserts.items():
            self._documents.put(key, obj, links.get(key, []))
        operations = self._documents.take_plan()
        if operations:
            await self._opa.patch(operations)
        return [*deletes, *upserts]

    async def _links(self, upserts: dict[Key, Object]) -> dict[Key, Any]:
        objects = list(upserts.values())
        found: dict[Key, Any] = {}
        for start in range(0, len(objects), LINKS_BATCH):
            for key, raw in (await self._ask_links(objects[start : start + LINKS_BATCH])).items():
                found[parse_key(key)] = entries_of(raw)
        return found

    async def _ask_links(self, objects: list[Object]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self._opa.query("links", {"objects": objects})
        except OpaRejected as error:
            if len(objects) == 1:
                # One object whose links cannot be made must not keep the others out: it goes in without them.
                log.error("links cannot be made", object=objects[0]["metadata"]["name"], why=str(error))
                return {}
            half = len(objects) // 2
            return {**await self._ask_links(objects[:half]), **await self._ask_links(objects[half:])}
        return answer

    async def _describe(self) -> None:
        """Store the policy kinds in force, and have their objects delivered."""
        kinds = await self._opa.query("kinds_in_force", {})
        await self._opa.put("kinds", kinds)
        self._want(self._types | set(kinds))

    def _want(self, types: frozenset[str] | set[str]) -> None:
        self._awaited = set() if self._exhausted else {type_id for type_id in types if type_id not in self._started}
        self._source.want(types)

    def _tell(self, notice: Notice) -> None:
        for listener in self._listeners:
            listener(notice)
