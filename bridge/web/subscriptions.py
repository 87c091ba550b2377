"""Effective policies as they change: queried once for all readers of a target, at the cost of the change."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import structlog

from bridge.derived.loop import Derived, Outdated
from bridge.model.changes import Notice
from bridge.model.keys import Key
from bridge.opa.batches import in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, QueryError
from bridge.queries.asking import effective_at
from bridge.queries.names import CommandError
from bridge.sidecar.program import Backing
from bridge.web.picture import object_of
from bridge.work import Turns

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

    def wants(self, policy_kind: str) -> bool:
        """Return whether policies of this kind are followed."""
        return self.policy_kind in {None, policy_kind}

    def set_entry(self, place: Place, entry: Entry | None) -> None:
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


class Scope(NamedTuple):
    """An effective target to query for one source namespace and policy kind."""

    source_namespace: str | None
    policy_kind: str
    target: str


Due = Followed | Scope  # a followed target is queried as a whole


class Following(Derived[Due]):
    """Follows targets for readers.

    A revision numbers the writes to OPA: its results were queried after that write. Each source namespace has its own
    turns, and those of clients with few of them are the first.
    """

    name = "effective policy watch"
    before_sync = True

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._settled = 0  # the revision of the last queries for readers
        self._backing: Backing | None = None
        self._followed: dict[tuple[str, str | None, str | None], Followed] = {}

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
        return self._backing.loop.revision if self._backing else 0

    def knows(self, targets: Sequence[Key], policy_kind: str | None, source_namespace: str | None) -> bool:
        """Return whether all of these are followed, so no query is needed."""
        names = [(str(target), policy_kind, source_namespace) for target in targets]
        return all(name in self._followed and self._followed[name].current for name in names)

    def open(self, backing: Backing) -> None:
        """Note that OPA is running."""
        self._backing = backing

    @contextlib.contextmanager
    def following(
        self, targets: Sequence[Key], policy_kind: str | None, source_namespace: str | None, client: str = ""
    ) -> Iterator[tuple[Reader, list[Followed]]]:
        """Follow targets as one reader of a client; call it while OPA is running."""
        assert self._backing is not None  # noqa: S101 - otherwise requests are refused
        loop = self._backing.loop
        if not self._followed:
            self._settled = self._number
            loop.follow(self)
        reader = Reader(client)
        found = []
        for target in targets:
            name = (str(target), policy_kind, source_namespace)
            one = self._followed.setdefault(name, Followed(target, policy_kind, source_namespace))
            one.readers.append(reader)
            found.append(one)
        loop.add(self, [one for one in found if not one.current])
        try:
            yield reader, found
        finally:
            for one in found:
                one.readers.remove(reader)
                if not one.readers:
                    self._followed.pop((str(one.target), policy_kind, source_namespace), None)
            if not self._followed:
                loop.leave(self)

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the parts with the effective targets that a change affects."""
        return {} if change.kinds else {"scopes": {}, "objects": {}}

    async def keys_of(self, outdated: Outdated) -> Iterable[Due] | None:
        """Return the affected effective targets, including deleted known ones, for each source."""
        change = outdated.change
        if change.kinds:
            return None
        affected: dict[str, set[str]] = {kind: {*targets} for kind, targets in outdated.parts.get("scopes", {}).items()}
        objects = {*map(str, change.keys), *outdated.parts.get("objects", ())}
        for one in self._followed.values():
            for target, kind in one.entries:
                if object_of(target) in objects:
                    affected.setdefault(kind, set()).add(target)
        sources = {one.source_namespace for one in self._followed.values()}
        return [
            Scope(source, kind, target)
            for source in sources
            for kind in sorted(affected)
            for target in sorted(affected[kind])
        ]

    async def every(self) -> AsyncIterator[Iterable[Due]]:
        """Yield all followed targets."""
        yield list(self._followed.values())

    def owner_of(self, key: Due) -> Hashable:
        """Return the source, or the followed target, which is a query of its own."""
        return key if isinstance(key, Followed) else key.source_namespace

    def take(self, stale: Turns[Due]) -> Iterable[Sequence[Due]]:
        """Return what is due for a source of a client with few of them, and for the one that has waited longest."""
        counts = self._count_sources()

        def rank(owner: Hashable) -> tuple[int, str]:
            source = owner.source_namespace if isinstance(owner, Followed) else owner
            return counts.get(source, 0), "" if source is None else str(source)

        owners = dict.fromkeys([min(stale.owners, key=rank), stale.owners[0]])
        return [stale.take_of(owner, BATCH) for owner in owners]

    async def compute(self, keys: Sequence[Due]) -> None:
        """Query these, and notify readers of differences."""
        opa = self._opa
        affected: dict[tuple[str | None, str], list[str]] = {}
        for key in keys:
            if isinstance(key, Scope):
                affected.setdefault((key.source_namespace, key.policy_kind), []).append(key.target)
            elif key.readers:
                await self._ask_whole(opa, key)
                key.current = True
                for reader in key.readers:
                    reader.wake.set()
        for (source, kind), targets in affected.items():
            followed = [one for one in self._followed.values() if one.current and one.source_namespace == source]
            if wanting := [one for one in followed if one.wants(kind)]:
                await self._follow_kind(opa, kind, targets, wanting)

    def settle(self, revision: int) -> None:
        """Note that everything that is followed is known as of this revision."""
        self._settled = revision

    @property
    def _opa(self) -> Opa:
        assert self._backing is not None  # noqa: S101 - nothing is followed before
        return self._backing.opa

    def _count_sources(self) -> Mapping[Hashable, int]:
        """Return for each followed source how many sources its clients follow, of the client with the fewest."""
        by_client: dict[str, set[str | None]] = {}
        for one in self._followed.values():
            for reader in one.readers:
                by_client.setdefault(reader.client, set()).add(one.source_namespace)
        counts: dict[Hashable, int] = {}
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
            one.set_entry(place, entries.get(place))

    async def _follow_kind(self, opa: Opa, kind: str, targets: Sequence[str], followed: Sequence[Followed]) -> None:
        watched: dict[str, list[Followed]] = {}
        for one in followed:
            watched.setdefault(str(one.target), []).append(one)
        query_input: dict[str, Any] = {"watched": list(watched)}
        if source := followed[0].source_namespace:
            query_input["sourceNamespace"] = source
        answers = await in_parts(opa, "watch_results", "scopes", targets, query_input, shape=lambda part: {kind: part})
        present: set[tuple[str, str]] = set()  # (watched target, effective target)
        for entry in [entry for _, answer in answers for entry in answer]:
            place = (entry["target"], kind)
            holds = {name: entry[name] for name in ("target", "policyKind", "paths")} if entry["paths"] else None
            for name in entry["watched"]:
                present.add((name, entry["target"]))
                for one in watched[name]:
                    one.set_entry(place, holds)
        for one in followed:
            for target in targets:
                if (target, kind) in one.entries and (str(one.target), target) not in present:
                    one.set_entry((target, kind), None)
