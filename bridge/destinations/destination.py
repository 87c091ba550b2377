"""Destinations of views: each has its own queue and connections, so one that fails or is slow delays no other.

A destination belongs to the cluster and the signing key that its object OWNER names. If two bridges have both, the one
that started (or got the Lease) last is its writer, by the same object; the other one stops, and reports that. The
writer renews the object. If it does not, it is gone: the other bridge takes over, also one of that cluster with a new
key. Before each write the bridge reads the owner, and what is stored: something else may have replaced or removed a
view, or restored an earlier one.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import structlog

from bridge.destinations.place import Place, StorageError, Stored
from bridge.opa.bundle import BundleTrust
from bridge.work import PAUSE, RetryQueue

clock = time.monotonic
log = structlog.get_logger(__name__)

OWNER = "_policy-bridge"  # cannot be a view's name
CHECK = 60.0  # seconds between two checks of a stored view, and between two renewals by the writer
_ABANDONED = 5  # of these periods without a renewal, after which the writer is gone
_RENEWALS = 8  # of a writer, before they repeat: a registry keeps every content that a tag ever had


class Owner(msgspec.Struct, frozen=True):
    """The owner of a destination: a cluster, the digest of its public key, and its writer since a time (RFC 3339).

    `renewal` changes while the writer runs. Others compare it with what they saw earlier, so clocks may differ.
    """

    cluster: str
    key: str
    writer: str
    since: str
    renewal: int = 0


class DestinationState(msgspec.Struct, frozen=True):
    """What a destination has: the revisions by view, and why it lacks others."""

    url: str
    revisions: dict[str, str]
    problem: str


class Destination:
    """Stores offered views, while `may_write`. Raises StorageError if it cannot be used at all."""

    def __init__(self, place: Place, cluster: str, trust: BundleTrust, may_write: Callable[[], bool]) -> None:
        self.url = place.url
        self._place = place
        self._storage = place.open()
        key = hashlib.sha256(trust.public_key.encode()).hexdigest()[:16]
        self._me = Owner(cluster, key, f"{socket.gethostname()}-{secrets.token_hex(4)}", "")
        self._may_write = may_write
        self._is_writer = False
        self._renewed = 0.0  # when this bridge wrote the owner
        self._other: tuple[Owner, float] | None = None  # another owner, and since when it is the same
        self._offered: dict[str, tuple[bytes, str]] = {}  # by view, the content and its revision
        self._written: dict[str, Stored] = {}
        self._problems: dict[str, str] = {}
        self._queue: RetryQueue[str] = RetryQueue()

    @property
    def state(self) -> DestinationState:
        """Return what it has, for people."""
        revisions = {view: stored.revision for view, stored in sorted(self._written.items())}
        waiting = self._offered.keys() - self._written.keys() if self._may_write() else ()
        problem = next(iter(self._problems.values()), "not published yet" if waiting else "")
        return DestinationState(self.url, revisions, problem)

    @property
    def problems(self) -> int:
        """Return the number of views that it does not have as published."""
        return len(self._problems)

    def offer(self, view: str, content: bytes, revision: str) -> None:
        """Store this content of a view as soon as possible."""
        self._offered[view] = content, revision
        self._queue.add([view])

    async def run(self) -> None:
        """Store views until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_lease())
                while True:
                    [view] = await self._queue.take(1)
                    await self._attempt(view)
        finally:
            await self._storage.close()

    async def _follow_lease(self) -> None:
        """Note that another bridge has the Lease, also if this one gets it back before it stores anything."""
        while True:
            self._is_writer &= self._may_write()
            await asyncio.sleep(PAUSE)

    async def _attempt(self, view: str) -> None:
        if not self._may_write():
            self._is_writer = False
            self._problems.clear()
            self._queue.add_later(view, PAUSE)
            return
        try:
            await self._store(view)
        except Exception as error:  # noqa: BLE001 - whatever a server sends, the bridge goes on
            why = str(error) if isinstance(error, StorageError) else f"its response is not as expected: {error!r}"
            if self._problems.get(view) != why:
                log.warning("view not stored", view=view, at=self.url, why=why)
            self._problems[view] = why
            self._queue.failed(view)
        else:
            self._problems.pop(view, None)
            self._queue.succeeded(view)
            self._queue.add_later(view, CHECK)

    async def _store(self, view: str) -> None:
        await self._check_owner()
        content, revision = self._offered[view]
        name = self._place.name_of(view)
        found = await self._storage.find(name)
        expected = self._written.get(view, found)
        if found != expected:
            log.warning("stored view was replaced", view=view, at=self.url, by=found and found.revision)
        elif found is not None and found.revision == revision:
            self._written[view] = found
            return
        self._written[view] = await self._storage.write(name, content, revision, found)
        log.info("view stored", view=view, at=self.url, revision=revision, bytes=len(content))

    async def _check_owner(self) -> None:
        """Become the writer if this bridge was not one yet. Raises StorageError for a destination of others."""
        read = await self._storage.read(OWNER)
        if read is None:
            if not self._is_writer and (other := await self._storage.find_any()):
                raise StorageError(f"it contains {other}, which no bridge wrote: use an empty prefix or repository")
            await self._become_writer(None)
            return
        content, stored = read
        try:
            owner = msgspec.json.decode(content, type=Owner)
        except msgspec.DecodeError as error:
            raise StorageError(f"{OWNER} is not a bridge's: use an empty prefix or repository") from error
        if owner.writer == self._me.writer:
            if clock() - self._renewed >= CHECK:
                await self._write_owner(stored, (owner.renewal + 1) % _RENEWALS)
            return
        if self._other is None or self._other[0] != owner:
            self._other = owner, clock()
        is_gone = clock() - self._other[1] >= _ABANDONED * CHECK
        if owner.cluster != self._me.cluster:
            whose = f"the cluster {owner.cluster!r}" if owner.cluster else "a bridge without the setting cluster"
            raise StorageError(f"it belongs to {whose}: use another prefix or repository")
        if owner.key != self._me.key and not (is_gone and owner.cluster):
            raise StorageError("it belongs to a bridge with another key: use its publish_credentials, or another place")
        # Otherwise an earlier owner is back, with all that was stored then.
        if self._is_writer and not is_gone and (owner.since, owner.writer) > (self._me.since, self._me.writer):
            raise StorageError(f"another bridge publishes there since {owner.since}: {owner.writer}; stop one of them")
        await self._become_writer(stored)

    async def _become_writer(self, replaced: Stored | None) -> None:
        self._me = msgspec.structs.replace(self._me, since=datetime.now(UTC).isoformat(timespec="microseconds"))
        await self._write_owner(replaced, 0)
        self._is_writer = True
        self._written.clear()  # another bridge may have been the writer since
        log.info("destination taken", at=self.url, writer=self._me.writer)

    async def _write_owner(self, replaced: Stored | None, renewal: int) -> None:
        content = msgspec.json.encode(msgspec.structs.replace(self._me, renewal=renewal))
        await self._storage.write(OWNER, content, self._me.writer, replaced)
        self._renewed = clock()
