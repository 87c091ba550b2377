"""Effective policies as they change: queried once for all readers of a target, at the cost of the change."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bridge.model.changes import Notice, merge_notices
from bridge.model.keys import Key
from bridge.model.types import DESCRIBING
from bridge.opa.batches import batches, in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined, QueryError
from bridge.queries.asking import effective_at
from bridge.queries.names import CommandError
from bridge.sidecar.run import Backing
from bridge.web.picture import object_of
from bridge.work import FAILED, PAUSE, Backoff

log = structlog.get_logger(__name__)

BATCH = 500  # effective targets of a query

Place = tuple[str, str]  # an effective target, and a policy kind
Entry = Mapping[str, Any]  # in the form of the query `effective`


@dataclass(eq=False, slots=True)
class Reader:
    """One reader, of a `client`. `differing` are the places to report; further changes are added to them.

    A slow reader therefore gets only the latest state, and the queue is bounded by the number of places.
    """

    client: str = ""
    differing: dict[Place, None] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class Followed:
    """A followed target: the effective policies at and below it, by place. `current` once they are known."""

    target: Key
    policy_kind: str | None
    source_namespace: str | None
    entries: dict[Place, Entry] = field(default_factory=dict)
    current: bool = False
    readers: list[Reader] = field(default_factory=list)
    stale: bool = True  # to be queried as a whole

    def wants(self, policy_kind: str) -> bool:
        """Return whether policies of this kind are followed."""
        return self.policy_kind in {None, policy_kind}

    def put(self, place: Place, entry: Entry | None) -> None:
        """Set the entry of a place, None for no policy; notify the readers of a difference."""
        if self.entries.get(place) == entry:
            return
        if entry is None:
            del self.entries[place]
        else:
            self.entries[place] = entry
        for reader in self.readers:
            reader.differing[place] = None
            reader.wake.set()


class Following:
    """Follows targets for readers. `run` works until it is cancelled.

    A revision numbers the writes to OPA: its results were queried after that write. Each source namespace is a query of
    its own: those of clients with few of them are the first, and between two queries newer changes are taken in.
    """

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._settled = 0  # the revision of the last queries for readers
        self._backing: Backing | None = None
        self._followed: dict[tuple[str, str | None, str | None], Followed] = {}
        self._notices: list[Notice] = []
        self._due: dict[str | None, dict[str, set[str]]] = {}  # scopes to query, by source and kind; the oldest first
        self._wake = asyncio.Event()

    @property
    def revision(self) -> str:
        """Return the current revision, in the form for clients."""
        return f"{self._epoch}-{self._number}"

    @property
    def settled(self) -> str:
        """Return the revision of the known state of followed targets."""
        return f"{self._epoch}-{self._settled if self._followed else self._number}"

    @property
    def _number(self) -> int:
        return self._backing.replicator.revision if self._backing else 0

    def knows(self, targets: Sequence[Key], policy_kind: str | None, source_namespace: str | None) -> bool:
        """Return whether all of these are followed, so no query is needed."""
        names = [(str(target), policy_kind, source_namespace) for target in targets]
        return all(name in self._followed and self._followed[name].current for name in names)

    def open(self, backing: Backing) -> None:
        """Note that OPA is running."""
        self._backing = backing

    def note(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        if notice.refilling:
            return
        if notice.refilled or any(key.type_id in DESCRIBING for key in notice.keys):
            for one in self._followed.values():
                one.stale = True
        else:
            self._notices.append(notice)
        self._wake.set()

    @contextlib.contextmanager
    def following(
        self, targets: Sequence[Key], policy_kind: str | None, source_namespace: str | None, client: str = ""
    ) -> Iterator[tuple[Reader, list[Followed]]]:
        """Follow targets as one reader of a client; call it while OPA is running."""
        assert self._backing is not None  # noqa: S101 - otherwise requests are refused
        if not self._followed:
            self._settled = self._number
            self._backing.replicator.listen(self.note)
        reader = Reader(client)
        found = []
        for target in targets:
            name = (str(target), policy_kind, source_namespace)
            one = self._followed.setdefault(name, Followed(target, policy_kind, source_namespace))
            one.readers.append(reader)
            found.append(one)
        self._wake.set()
        try:
            yield reader, found
        finally:
            for one in found:
                one.readers.remove(reader)
                if not one.readers:
                    self._followed.pop((str(one.target), policy_kind, source_namespace), None)
            if not self._followed:
                self._backing.replicator.ignore(self.note)

    async def run(self) -> None:
        """Query and notify until cancelled."""
        backoff = Backoff(FAILED)
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._backing is None:
                continue
            try:
                await self._settle(self._backing.opa)
                backoff.reset()
            except (OpaUnavailable, OpaUndefined) as error:
                log.info("effective policy watch waiting for OPA", why=str(error))
                await asyncio.sleep(PAUSE)
                self._wake.set()
            except Exception as error:  # noqa: BLE001 - it must not end the bridge: what can be isolated was
                wait = backoff.next()
                why = f"{type(error).__name__}: {error}"
                log.error("effective policy watch failed", why=why, retry_seconds=wait)
                self._notices.clear()
                self._due.clear()
                for one in self._followed.values():
                    one.stale = True
                await asyncio.sleep(wait)
                self._wake.set()

    async def _settle(self, opa: Opa) -> None:
        revision = self._number
        await self._take_notices(opa)
        failed: OpaError | None = None
        waiting = [one for one in self._followed.values() if one.stale]
        while self._due or waiting:
            await self._follow_next(opa)
            for one in waiting[:1]:
                one.stale = False
                try:
                    await self._ask_whole(opa, one)
                except OpaError as error:  # others may succeed
                    one.stale, failed = True, error
            del waiting[:1]
            if self._notices:
                break
        if self._due or waiting:
            self._wake.set()
        else:
            self._settled = revision
        for one in self._followed.values():
            if not one.current and not one.stale:
                one.current = True
                for reader in one.readers:
                    reader.wake.set()
        if failed:
            raise failed

    async def _take_notices(self, opa: Opa) -> None:
        """Add what changes concern to what is due, for each source."""
        notices, self._notices = self._notices, []
        try:
            scopes = await self._concerned(opa, notices) if notices else {}
        except OpaError:
            self._notices = [*notices, *self._notices]
            raise
        for source in {one.source_namespace for one in self._followed.values()} if scopes else ():
            due = self._due.setdefault(source, {})
            for kind, targets in scopes.items():
                due.setdefault(kind, set()).update(targets)

    async def _follow_next(self, opa: Opa) -> None:
        """Query what is due for a source of a client with few of them, and for the source that has waited longest."""
        if not self._due:
            return
        counts = self._count_sources()
        first = sorted(self._due, key=lambda source: (counts.get(source, 0), source or ""))[:1]
        for source in dict.fromkeys([*first, *[*self._due][:1]]):
            await self._follow(opa, source)

    def _count_sources(self) -> Mapping[str | None, int]:
        """Return for each followed source how many sources its clients follow, of the client with the fewest."""
        by_client: dict[str, set[str | None]] = {}
        for one in self._followed.values():
            for reader in one.readers:
                by_client.setdefault(reader.client, set()).add(one.source_namespace)
        counts: dict[str | None, int] = {}
        for sources in by_client.values():
            for source in sources:
                counts[source] = min(counts.get(source, len(sources)), len(sources))
        return counts

    async def _ask_whole(self, opa: Opa, one: Followed) -> None:
        try:
            found = await effective_at(opa, [one.target], one.policy_kind, one.source_namespace)
        except (QueryError, CommandError):
            found = []  # it, its section or its policy kind was deleted, and may be created again
        except OpaRejected as error:
            if not error.in_evaluation:
                raise
            log.error("query failed", query="effective", key=str(one.target), why=str(error))
            found = []
        entries: dict[Place, Entry] = {(entry["target"], entry["policyKind"]): entry for entry in found}
        for place in [*one.entries.keys() - entries.keys(), *entries]:
            one.put(place, entries.get(place))

    async def _follow(self, opa: Opa, source: str | None) -> None:
        """Query what is due for a source, if it is."""
        scopes = self._due.get(source, {})
        followed = [one for one in self._followed.values() if not one.stale and one.source_namespace == source]
        for kind, targets in sorted(scopes.items()):
            if wanting := [one for one in followed if one.wants(kind)]:
                await self._follow_kind(opa, kind, sorted(targets), wanting)
            del scopes[kind]
        self._due.pop(source, None)

    async def _concerned(self, opa: Opa, notices: Sequence[Notice]) -> dict[str, set[str]]:
        """Return the effective targets that a change affects, by policy kind, including deleted known ones."""
        change = merge_notices(notices)
        was = {str(key): paths for key, paths in change.was.items()}
        keys = sorted(map(str, change.keys))
        if not keys:
            return {}
        scopes: dict[str, set[str]] = {}
        objects = set(keys)
        for _, found in await in_parts(opa, "dependents", "keys", keys, {"was": was}):
            objects |= set(found["objects"])
            for kind, targets in found["scopes"].items():
                scopes.setdefault(kind, set()).update(targets)
        for one in self._followed.values():
            for target, kind in one.entries:
                if object_of(target) in objects:
                    scopes.setdefault(kind, set()).add(target)
        return scopes

    async def _follow_kind(self, opa: Opa, kind: str, targets: Sequence[str], followed: Sequence[Followed]) -> None:
        watched: dict[str, list[Followed]] = {}
        for one in followed:
            watched.setdefault(str(one.target), []).append(one)
        query_input: dict[str, Any] = {"watched": list(watched)}
        if source := followed[0].source_namespace:
            query_input["sourceNamespace"] = source
        for batch in batches(targets, BATCH):
            answers = await in_parts(
                opa, "watch_results", "scopes", batch, query_input, shape=lambda part: {kind: part}
            )
            effective = [entry for _, answer in answers for entry in answer]
            present: set[tuple[str, str]] = set()  # (watched target, effective target)
            for entry in effective:
                place = (entry["target"], kind)
                holds = {name: entry[name] for name in ("target", "policyKind", "paths")} if entry["paths"] else None
                for name in entry["watched"]:
                    present.add((name, entry["target"]))
                    for one in watched[name]:
                        one.put(place, holds)
            for one in followed:
                for target in batch:
                    if (target, kind) in one.entries and (str(one.target), target) not in present:
                        one.put((target, kind), None)
