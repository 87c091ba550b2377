"""The replicator: change -> links -> one write, and OPA filled again when it turns out to hold something else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

import structlog

from bridge.model.changes import Change, Deleted, Listed, Mended, Object, Trouble, Upserted
from bridge.model.keys import Key
from bridge.model.notice import Listener, Notice
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.replicator.claim import Claim, Lost
from bridge.replicator.collecting import give_back, without_collector
from bridge.replicator.counted import Counted
from bridge.replicator.in_force import modules_in_force
from bridge.replicator.linking import AT_ONCE
from bridge.replicator.listings import Listings
from bridge.replicator.pending import Pending
from bridge.replicator.pruning import prune
from bridge.replicator.troubles import Troubles
from bridge.replicator.writer import Writer
from bridge.sources.base import Source

log = structlog.get_logger(__name__)

BATCH = 100  # objects a write, so that a change waits for few others
BATCH_BYTES = 512 << 10  # of these objects together: OPA parses about 100 MB a second
PIECE = 3_000  # objects of a fill that are written at once, while more are read; memory holds no more of them for long
PIECE_BYTES = 16 << 20
ROOM = 20_000  # changes that may wait to be written; then the source waits
ROOM_BYTES = 64 << 20
SILENCE = 30.0  # seconds that a fill waits for types that do not answer while others do
PROBE = 2.0  # seconds between two looks at OPA
AUDIT = 60.0  # seconds between two audits, which look at all that OPA has
_AUDIT_SHARE = 200  # an audit is followed by so many times its own duration, at least
_RULES_LOOK = 0.05  # seconds between two looks whether OPA has taken other modules
_FIRST_WAIT = 0.1  # seconds before a fill that has failed is tried again; the waits double
_LONGEST_WAIT = 10.0
POLICY_KIND = "policybridge.io/PolicyKind"
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
_DESCRIBING = {POLICY_KIND, CRD}  # a change of one of these may change the policy kinds in force


class Replicator:
    """Keeps OPA's documents equal to a source. `run` does the work until it is cancelled.

    `types` are the kinds (`<group>/<Kind>`) that are always replicated; policy kinds in force join them. Listeners are
    told after OPA holds a change. `filled` is set while OPA holds everything that the source has told, and answers.
    `owner` names this bridge to others that would fill the same OPA; after a restart it is the same. `content` names
    what the documents are made from (which cluster, by which Rego): what OPA has of the same content is gone on with.
    `rules` names what links are made by besides, None while OPA does not have the modules that it is to have.
    `asked` are types that somebody has named: that one of them is not served is a warning. `prune` takes off what OPA
    shall not have.
    """

    def __init__(
        self,
        source: Source,
        opa: Opa,
        types: Iterable[str],
        *,
        owner: str = "",
        content: str = "",
        asked: Iterable[str] = (),
        prune: Callable[[Object], Object] = prune,
        rules: Callable[[], str | None] = lambda: "",
    ) -> None:
        self.filled = asyncio.Event()
        self.troubles = Troubles()
        self._source = source
        self._opa = opa
        self._types = frozenset(types)
        self._wanted = self._types  # with the policy kinds in force
        self._writer = Writer(opa, Claim(opa, owner, content, self._waits_for_opa))
        self._pending = Pending(self._writer.documents.keys_of, prune=prune)
        self._asked = frozenset(asked)
        self._rules = rules
        self._linked_by = ""  # the rules that links were made by
        self._rules_change = False
        self._relinks = False  # other rules were to come, whether they are in force now or not
        self._wake = asyncio.Event()
        self._came = asyncio.Event()  # a change, of which links may be made
        self._room = asyncio.Event()  # for changes that come
        self._doubt = False  # whether OPA holds what was written
        self._looking = False  # into a doubt
        self._whole = False  # OPA was filled
        self._listeners: list[Listener] = []
        self._listings = Listings()
        self._exhausted = False
        self._following: asyncio.Task[None] | None = None
        self._writing = False
        self.counted = Counted()
        self._undiscovered: dict[str, str] = {}  # as was told last: CRDs with the policy label, and what is wrong

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each write."""
        self._listeners.append(listener)

    def __len__(self) -> int:
        return len(self._writer.documents)

    @property
    def objects(self) -> Mapping[str, int]:
        """How many objects OPA has, by type."""
        return self._writer.documents.counts

    @property
    def waiting(self) -> int:
        """How many objects wait to be written."""
        return len(self._pending)

    @property
    def confirmed(self) -> bool:
        """Whether OPA holds everything, and there is no sign that it was restarted which nobody has looked into."""
        return self.filled.is_set() and not self._doubt and not self._looking

    def doubt(self) -> None:
        """Look at OPA at once: there is a sign that it was restarted."""
        self._doubt = True
        self._wake.set()

    def rules_change(self, links: bool) -> None:
        """Modules by which links are made (`links`), or objects are judged, are about to change in OPA.

        Until `rules` tells that OPA has them nothing may be concluded from what it answers; then links are made anew
        where need be, and all that was derived is to be derived again.
        """
        self._rules_change = True
        if links:
            # From now on links may be made by either; nobody is to go on with them.
            self._relinks = True
            self._writer.doubt_links()
        self.filled.clear()
        if self._whole:
            self._tell(Notice(refilling=True))
        self._wake.set()

    async def run(self) -> None:
        """Follow the source and write to OPA until cancelled; an OPA that is away or empty is waited for and filled."""
        self._want(self._types)
        async with asyncio.TaskGroup() as tasks:
            self._following = tasks.create_task(self._follow())
            tasks.create_task(self._keep_filled())

    async def finish(self) -> None:
        """Take in no more; returns once OPA holds what has come. One that is away or being filled is left as it is."""
        if self._following:
            self._following.cancel()
        while self.filled.is_set() and (len(self._pending) or self._writing):  # noqa: ASYNC110 (once in its life)
            await asyncio.sleep(0.01)
        if self.filled.is_set():
            log.info("OPA holds all that has come", objects=len(self))

    async def _follow(self) -> None:
        async for change in self._source.changes():
            self._note(change)
            # After everything was asked for anew, what comes before a type's listing is left over from before.
            if not isinstance(change, Upserted | Deleted | Listed) or change.type_id in self._listings.begun:
                self._pending.take_in(change)
            self._came.set()
            self._wake.set()
            while len(self._pending) > ROOM or self._pending.size > ROOM_BYTES:
                self._room.clear()
                await self._room.wait()
        # A folder that is not followed has told all there is.
        self._exhausted = True
        self.troubles.tell()
        self._listings.expect_nothing()
        self._wake.set()

    def _note(self, change: Change) -> None:
        self._listings.note(change)
        match change:
            case Trouble(subject, message, absent=absent):
                self.troubles.begins(subject, message, warning=not absent or subject in self._asked)
            case Mended(subject):
                self.troubles.ends(subject)
            case _ if change.type_id in self._listings.begun:
                self.troubles.ends(change.type_id)

    async def _keep_filled(self) -> None:
        wait = _FIRST_WAIT
        again = emptied = False
        reason = "start"
        while True:
            if emptied:
                self._start_over()  # at once: the source tells while OPA starts
            await modules_in_force(self._opa, self._rules)
            try:
                relinks, self._relinks = self._relinks, False
                self._rules_change, self._linked_by = False, self._rules() or ""
                if await self._writer.begin(self._linked_by, relink=relinks) or (again and not emptied):
                    # What is gone can be told from what OPA holds, and that is known from here on.
                    self._start_over()
                again = True
                with without_collector(), self.counted.filling(reason):
                    await self._fill()
                give_back()
                wait = _FIRST_WAIT
                await self._follow_up()
            except OpaError as error:
                if self._exhausted:
                    raise
                reason = error.reason if isinstance(error, Lost) else "rejected"
                log.warning("OPA must be filled again", reason=reason, why=str(error))
                emptied = isinstance(error, Lost) and error.empty
                self.filled.clear()
                self._whole = False
                self._tell(Notice(refilling=True))
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)

    def _waits_for_opa(self, error: OpaError | None) -> None:
        if error is None:
            if self._whole and not self._rules_change:
                log.info("OPA answers again")
                self.filled.set()
            return
        if self._exhausted:
            raise error
        if self.filled.is_set():
            log.warning("waiting for OPA", why=str(error))
            self.filled.clear()

    def _start_over(self) -> None:
        self._pending.clear()
        self._room.set()
        self._writer.linking.forget()
        self._listings.start_over()
        # Policy kinds stay wanted: whoever looks at a fill without their policies would take every policy for gone.
        self._want(self._wanted)
        self._source.relist()

    async def _fill(self) -> None:
        """Everything that the source tells first, in few operations with large values.

        Meanwhile OPA makes links of what waits, so that it is idle neither while more is read nor while it is written.
        """
        ahead = [asyncio.create_task(self._link_ahead()) for _ in range(AT_ONCE)]
        try:
            await self._fill_in_pieces()
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def _link_ahead(self) -> None:
        while True:
            self._came.clear()
            if not await self._writer.link_ahead(self._pending.objects()):
                await self._came.wait()

    async def _fill_in_pieces(self) -> None:
        await self._gathered()
        await self._write_all()
        await self._describe()
        for type_id in self._writer.documents.types() - self._wanted - self._listings.begun:
            self._pending.forget(type_id)  # found in OPA, from a bridge before this one
        await self._gathered()  # the types of policy kinds that were not known before
        await self._write_all()
        await self._writer.finish()
        self._whole = True
        log.info("OPA is filled", objects=len(self))
        if not self._rules_change:  # else some links may be made by what was in force before
            self.filled.set()
            self._tell(Notice(refilled=True))

    async def _gathered(self) -> None:
        """Wait until every type has been told whole, or it is known that it delivers nothing.

        A type that does not answer while others do is waited for no longer than SILENCE. Meanwhile OPA takes what is a
        piece.
        """
        said: set[str] = set()
        clock = asyncio.get_running_loop().time
        look = clock() + PROBE
        answered = clock()  # when it was not only for silent types that we waited
        while missing := self._listings.missing:
            self._wake.clear()
            if not self._listings.held_up_by_silence:
                answered = clock()
            elif clock() - answered > SILENCE:
                log.warning("goes on without types that do not answer", types=sorted(missing))
                self._listings.expect_nothing()
                continue
            if clock() > look:
                await self._writer.probe()
                look = clock() + PROBE
            if len(self._pending) >= PIECE or self._pending.size >= PIECE_BYTES:
                await self._writer.write(self._take_out(PIECE, PIECE_BYTES))
                continue
            try:
                async with asyncio.timeout(PROBE):
                    await self._wake.wait()
            except TimeoutError:
                if missing != said:
                    log.info("waiting for first listings", types=sorted(missing))
                    said = missing

    async def _write_all(self) -> None:
        while len(self._pending):
            await self._writer.write(self._take_out(PIECE, PIECE_BYTES))

    def _take_out(self, limit: int, most_bytes: int) -> dict[Key, Object | None]:
        batch = self._pending.take_out(limit, most_bytes)
        self.counted.taken_out(len(batch), self._pending.taken_size)
        self._room.set()
        return batch

    async def _follow_up(self) -> None:
        """Write changes as they come; look at OPA now and then."""
        clock = asyncio.get_running_loop().time
        look, audit = clock() + PROBE, clock() + AUDIT
        while True:
            self._wake.clear()
            if not len(self._pending) and not self._doubt:
                try:
                    async with asyncio.timeout_at(min(look, clock() + _RULES_LOOK) if self._rules_change else look):
                        await self._wake.wait()
                except TimeoutError:
                    pass
            self._follow_rules()
            if clock() >= look or self._doubt:
                self._doubt, self._looking = False, self._doubt
                try:
                    await self._writer.probe()
                finally:
                    self._looking = False
                look = clock() + PROBE
            if (began := clock()) >= audit:
                await self._audit()
                audit = clock() + max(AUDIT, _AUDIT_SHARE * (clock() - began))
            await self._write_next()

    async def _audit(self) -> None:
        try:
            await self._writer.audit()
        except Lost:
            self.counted.audits["different"] += 1
            raise
        self.counted.audits["same"] += 1

    def _follow_rules(self) -> None:
        """Go on once OPA has what is served. Raises Lost where links are to be made anew."""
        rules = self._rules() if self._rules_change else None
        if rules is None:
            return
        if rules != self._linked_by or self._relinks:
            raise Lost("its links were made by other modules than are in force now", reason="modules")
        self._rules_change = False
        self.filled.set()
        self._tell(Notice(refilled=True))

    async def _write_next(self) -> None:
        if not len(self._pending):
            return
        self._writing = True
        try:
            await self._write_batch()
        finally:
            self._writing = False

    async def _write_batch(self) -> None:
        written = await self._writer.write(self._take_out(BATCH, BATCH_BYTES))
        self.counted.in_opa(self._pending.arrivals)
        keys = [key for key, before in written.items() if before.essence != self._writer.documents.essence(key)]
        if any(key.type_id in _DESCRIBING for key in keys):
            await self._describe()
        if written:
            was = {key: written[key].paths for key in keys if written[key].paths}
            reported = written.keys() - set(keys)
            self._tell(Notice(tuple(keys), tuple(reported), was))

    async def _describe(self) -> None:
        """Store the policy kinds in force, and have their objects delivered.

        A cluster that no CRD and no PolicyKind tells of a shipped preset's kind does not serve it.
        """
        kinds = await self._writer.ask("kinds_in_force")
        await self._writer.put_kinds(kinds)
        self._want(self._types | {kind for kind, about in kinds.items() if about["layers"] != ["Preset"]})
        await self._tell_undiscovered()

    async def _tell_undiscovered(self) -> None:
        found: dict[str, str] = await self._writer.ask("undiscovered")
        for crd, why in found.items():
            if self._undiscovered.get(crd) != why:
                log.warning("a CRD with the policy label makes no policy kind", crd=crd, why=why)
        self._undiscovered = found

    def _want(self, types: frozenset[str]) -> None:
        self._wanted = types
        self._listings.expect(frozenset() if self._exhausted else types)
        self._source.want(types)

    def _tell(self, notice: Notice) -> None:
        for listener in self._listeners:
            listener(notice)
