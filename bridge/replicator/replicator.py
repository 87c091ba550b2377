"""The replicator: change -> links -> one write. It syncs OPA again when the data there differs from what it wrote."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from bridge import tracing
from bridge.model.changes import Listener, Notice, Object, Rejected, Source, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.observability import Record, record_nothing
from bridge.model.types import Fields
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUndefined
from bridge.replicator.documents import Path
from bridge.replicator.intake import Intake, Pending, ReplicationCounts
from bridge.replicator.links import AT_ONCE
from bridge.replicator.writer import SLOW, Claim, Lost, Writer
from bridge.work import RETURNING, STARTING, Backoff

log = structlog.get_logger(__name__)

# Without audits.
QUERIES_OF_SYNC = ("kind_documents", "link_fields", "link_shapes", "linking_statuses", "links", "stamps", "undescribed")
PATIENCE = SLOW  # seconds until a report
BRISK = 3.0  # seconds of frequent checks: an OPA that has just started soon responds


_NO_MODULES = (
    "OPA has not loaded the bridge's modules yet "
    "(if you set opa_url, start that OPA with what `pbctl admin opa-config` prints)"
)


async def wait_for_active_modules(
    opa: Opa, rules: Callable[[], str | None], waiting: Callable[[str], None] = lambda _: None
) -> None:
    """Wait for an OPA that responds and has the bridge's Rego; report once what it waits for.

    `rules` returns None while OPA does not have the expected modules. `waiting` is called with what it waits for, and
    with "" at the end.
    """
    said = ""
    clock = asyncio.get_running_loop().time
    since = clock()

    async def query() -> None:
        await opa.query("links", {"objects": []})
        if rules() is None:
            raise OpaError("OPA has not activated the served modules yet")

    def wait(state: RetryCallState) -> float:
        return RETURNING(state) if clock() - since > BRISK else RETURNING.multiplier

    def report(state: RetryCallState) -> None:
        nonlocal said
        error = state.outcome.exception() if state.outcome else None
        why = _NO_MODULES if isinstance(error, OpaUndefined) else str(error)
        waiting(why)
        if why != said and clock() - since > PATIENCE:
            log.info("waiting for OPA", why=why)
            said = why

    retry = retry_if_exception_type(OpaError)
    await AsyncRetrying(retry=retry, wait=wait, before_sleep=report, sleep=asyncio.sleep)(query)
    waiting("")


_INCOMPLETE = "the initial sync of OPA is incomplete"
BATCH = 100  # objects of a write, so a change waits for few others
BATCH_BYTES = 512 << 10  # of these objects together: OPA parses about 100 MB a second
PIECE = 3_000  # objects that a sync writes at once, while more are read; memory has few more of them
PIECE_BYTES = 16 << 20
SILENCE = 30.0  # seconds that a sync waits for types that do not respond while others do
PROBE = 2.0  # seconds between two checks of OPA
AUDIT = 60.0  # seconds between two audits of all of OPA's data
_AUDIT_SHARE = 200  # an audit is followed by at least this multiple of its own duration
_RULES_LOOK = 0.05  # seconds between two checks whether OPA has loaded other modules


class Replicator:
    """Keeps OPA's documents equal to a source. `run` does the work until it is cancelled.

    `types` are the kinds (`<group>/<Kind>`) that are always replicated, in addition to active policy kinds. Listeners
    are called after OPA has a change. `filled` is set in the state SYNCED: while OPA responds and has everything that
    the source has delivered. `owner` identifies this bridge to others on the same OPA, also after a restart. `content`
    identifies the origin of the documents (the cluster and the Rego): OPA's data of the same content is reused. `rules`
    returns the other inputs of links, None while OPA does not have the expected modules. `configured` are types that a
    setting names: a missing one causes a warning. `fields` are those that objects keep, by type. `record` gets a
    warning for each rejected object.
    """

    def __init__(  # noqa: PLR0913 - independent options of the replication
        self,
        source: Source,
        opa: Opa,
        types: Iterable[str],
        *,
        owner: str = "",
        content: str = "",
        configured: Iterable[str] = (),
        fields: Mapping[str, Fields] | None = None,
        rules: Callable[[], str | None] = lambda: "",
        record: Record = record_nothing,
    ) -> None:
        self._machine = SyncMachine()
        self.filled = self._machine.synced
        self._signs = 0  # number of signs that OPA was restarted
        self._waiting_for = ""  # why OPA does not get the objects now
        self._checked = 0  # `_signs` before the last check of OPA
        self.counted = ReplicationCounts()
        self._opa = opa
        self._types = frozenset(types)
        self._claim = Claim(opa, owner, content, self._note_delay)
        self._writer = Writer(opa, self._claim, self._set_aside, self._retry)
        pending = Pending(self._writer.documents.keys_of, fields or {})
        self._intake = Intake(source, pending, self.counted, configured, record)
        self.objects: Mapping[str, int] = self._writer.documents.counts  # by type
        self.policy_kinds: frozenset[str] = frozenset()  # the active ones, empty until they are known
        self.troubles = self._intake.troubles
        # Held from the first write of a change until its notice: several writes may belong together.
        self.changing = asyncio.Lock()
        self.rejected: Mapping[str, int] = self._intake.rejections.counts  # objects, by type
        self._undescribed: dict[str, str] = {}  # by undescribed type of policies, the last logged message
        self._rules = rules
        self._linked_by = ""  # the rules that made the links
        self._listeners: dict[Listener, frozenset[str]] = {}  # with the types that each follows; empty: all
        self._following: asyncio.Task[None] | None = None

    def listen(self, listener: Listener, *types: str) -> None:
        """Call `listener` after each write; with `types` only after changes of these, and after syncs."""
        self._listeners[listener] = frozenset(types)

    def ignore(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        self._listeners.pop(listener, None)

    def __len__(self) -> int:
        return len(self._writer.documents)

    def paths_of(self, key: Key) -> tuple[Path, ...]:
        """Return the paths of an object's entries in the index; none for an object that OPA does not have."""
        return self._writer.documents.known(key).paths

    @property
    def waiting(self) -> int:
        """Return the number of objects that wait for a write."""
        return len(self._intake.pending)

    @property
    def idle(self) -> bool:
        """Return whether OPA has every change that has arrived, after the initial sync."""
        return not self.waiting and not self._intake.pending.writing

    @property
    def state(self) -> SyncState:
        """Return what OPA has of the source's objects."""
        return self._machine.state

    @property
    def lacking(self) -> str:
        """Return why OPA has not had every object since it was empty; empty if it has."""
        return "" if self._claim.complete else _INCOMPLETE

    @property
    def unready(self) -> str:
        """Return why OPA may not have everything, including an unverified sign of a restart; empty if it has."""
        if self.state is not SyncState.SYNCED:
            return _INCOMPLETE
        return "" if self._checked == self._signs else "OPA may have been restarted, check in progress"

    def explain_unready(self) -> str:
        """Return `unready` with what an incomplete sync waits for."""
        return ": ".join(filter(None, [self.unready, self._waiting_for])) if self.unready else ""

    def doubt(self) -> None:
        """Check OPA immediately, because of a sign of a restart."""
        self._signs += 1
        self._intake.wake.set()

    def rules_change(self, links: bool) -> None:
        """Note that modules that declare links (`links`), or that evaluate objects, are about to change in OPA.

        Until `rules` returns that OPA has them, its results are ignored; then links are computed again if necessary,
        and so is everything derived.
        """
        if links:
            # From now on links may be made by either; no bridge may reuse them.
            self._claim.rules_doubtful = True
        if self._machine.on(SyncEvent.MODULES_CHANGE) is SyncState.RELOADING:  # before, listeners have no results
            self._notify(Notice(refilling=True))
        self._intake.wake.set()

    async def run(self) -> None:
        """Follow the source and write to OPA until cancelled; wait for an unavailable OPA, and sync an empty one."""
        self._intake.want(self._types)
        async with asyncio.TaskGroup() as tasks:
            self._following = tasks.create_task(self._intake.follow())
            tasks.create_task(self._keep_filled())

    async def add(self, objects: Iterable[Object]) -> None:
        """Take in objects that the source has not delivered, after the initial sync; return once OPA has them."""
        async with self.changing:
            for obj in objects:
                self._intake.take_in(Upserted(key_of(obj).type_id, (obj,)))
            while self.waiting:
                await self._write_piece()

    async def finish(self) -> None:
        """Stop reading changes; return once OPA has pending ones.

        An unavailable OPA, or one in a sync, is left unchanged.
        """
        if self._following:
            self._following.cancel()
        while self.filled.is_set() and not self.idle:  # noqa: ASYNC110 (once in its life)
            await asyncio.sleep(0.01)
        if self.filled.is_set():
            log.info("pending changes written to OPA", objects=len(self))

    async def _keep_filled(self) -> None:
        backoff = Backoff(STARTING)
        lost: OpaError | None = None
        while True:
            emptied = isinstance(lost, Lost) and lost.empty
            if emptied:
                self._claim.complete = False
                self._start_over()  # immediately: the source delivers while OPA starts
            await wait_for_active_modules(self._opa, self._rules, self._note_waiting)
            self._linked_by = self._rules() or ""
            self._machine.on(SyncEvent.MODULES_LOADED)
            try:
                if await self._writer.begin(self._linked_by) or (lost and not emptied):
                    # Deleted objects follow from OPA's data, which is known from here on.
                    self._start_over()
                async with self.changing:
                    with without_collector(), self.counted.count_sync(_reason(lost)):
                        await self._fill()
                give_back()
                backoff.reset()
                await self._follow_up()
            except OpaError as error:
                if self._intake.exhausted:
                    raise
                lost = error
                log.warning("OPA resync required", reason=_reason(lost), why=str(error))
                self._machine.on(SyncEvent.LOST)
                self._notify(Notice(refilling=True))
                await backoff.wait()

    def _note_waiting(self, why: str) -> None:
        self._waiting_for = why

    def _note_delay(self, error: OpaError | None) -> None:
        if error is not None and self._intake.exhausted:
            raise error
        self._note_waiting("" if error is None else str(error))
        before = self.state
        after = self._machine.on(SyncEvent.ANSWERED if error is None else SyncEvent.DELAYED)
        if before is after:
            return
        if error is None:
            log.info("OPA responding again")
        else:
            log.warning("waiting for OPA", why=str(error))

    def _set_aside(self, key: Key, obj: Object | None, why: str) -> None:
        if obj is None:
            log.error("object not removed from OPA", key=str(key), why=why)
        elif key not in self._intake.pending.objects():  # otherwise its next state is written soon
            identity = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
            self._intake.rejections.take_in(Rejected(key.type_id, key, identity, why))

    def _retry(self, key: Key, obj: Object) -> None:
        if key in self._intake.rejections and key not in self._intake.pending.objects():
            self._intake.retry(key, obj)

    def _start_over(self) -> None:
        self._writer.linking.start_over()
        self._intake.start_over()

    async def _fill(self) -> None:
        """Write the source's first listings, after `Writer.begin`, and mark them as complete.

        Meanwhile OPA computes links of waiting objects, so it is idle neither during reads nor during writes.
        """
        beside = [asyncio.create_task(self._link_ahead()) for _ in range(AT_ONCE)]
        beside.append(asyncio.create_task(collect_seldom()))
        try:
            await self._write_listings()
        finally:
            for task in beside:
                task.cancel()
            ended = await asyncio.gather(*beside, return_exceptions=True)
            error = next((error for error in ended if isinstance(error, Exception)), None)
            if error is not None:
                # The write has queried these links: only time was lost.
                log.error("link prefetch failed unexpectedly", exc_info=error)
        log.info("OPA synced", objects=len(self))
        if self._machine.on(SyncEvent.WRITTEN) is SyncState.SYNCED:
            self._notify(Notice(refilled=True))

    async def _link_ahead(self) -> None:
        while True:
            self._intake.more.clear()
            if not await self._writer.linking.ahead(self._intake.pending.objects()):
                await self._intake.more.wait()

    async def _write_listings(self) -> None:
        # A policy kind may arrive while the objects of others are awaited.
        while self._writer.kinds_outdated or self._intake.listings.missing or self.waiting:
            await self._gather_listings()
            while self.waiting:
                await self._write_piece()
            if self._writer.kinds_outdated:
                await self._describe()
                for type_id in self._writer.documents.types() - self._intake.wanted - self._intake.listings.begun:
                    self._intake.pending.forget(type_id)  # found in OPA, from an earlier bridge
        await self._writer.renew_facts()  # policies may have arrived before the kinds that their facts depend on
        await self._writer.finish()

    async def _gather_listings(self) -> None:
        """Wait until every type is complete, or known to deliver nothing.

        A type that does not respond while others do delays the sync by at most SILENCE. Meanwhile complete batches are
        written to OPA.
        """
        said: set[str] = set()
        clock = asyncio.get_running_loop().time
        look = clock() + PROBE
        answered = clock()  # when the wait was not only for silent types
        while missing := self._intake.listings.missing:
            self._intake.wake.clear()
            if not self._intake.listings.is_held_up_by_silence:
                answered = clock()
            elif clock() - answered > SILENCE:
                log.warning("initial sync continued without unavailable types", types=sorted(missing))
                self._intake.listings.expect_nothing()
                continue
            if clock() > look:
                await self._writer.probe()
                look = clock() + PROBE
            if self.waiting >= PIECE or self._intake.pending.size >= PIECE_BYTES:
                await self._write_piece()
                continue
            try:
                async with asyncio.timeout(PROBE):
                    await self._intake.wake.wait()
            except TimeoutError:
                if missing != said:
                    log.info("waiting for initial lists", types=sorted(missing))
                    said = missing

    async def _write_piece(self) -> None:
        await self._writer.write(self._intake.take_out(PIECE, PIECE_BYTES))
        self._intake.pending.written()

    async def _describe(self) -> None:
        """Store the active policy kinds, and request their objects.

        A cluster without a CRD or PolicyKind for a shipped preset's kind does not serve it.
        """
        documents = await self._writer.query("kind_documents")
        await self._writer.plan_kinds(documents)
        self.policy_kinds = frozenset(documents["kinds"])
        undescribed: dict[str, dict[str, str]] = await self._writer.query("undescribed")
        # Policies without a description have no effect, and commands show where they are attached.
        served = documents["kind_sets"]["served"].keys()
        self._intake.want(self._types | served | {kind for kind, about in undescribed.items() if "crd" in about})
        for kind, about in undescribed.items():
            if self._undescribed.get(kind) != about["message"]:
                log.warning("policy kind not discovered", kind=kind, why=about["message"], crd=about.get("crd", ""))
        self._undescribed = {kind: about["message"] for kind, about in undescribed.items()}

    async def _follow_up(self) -> None:
        """Write changes as they arrive; check OPA from time to time."""
        clock = asyncio.get_running_loop().time
        look, audit = clock() + PROBE, clock() + AUDIT
        while True:
            self._intake.wake.clear()
            if not self.waiting and self._checked == self._signs:
                reloading = self.state is SyncState.RELOADING
                try:
                    async with asyncio.timeout_at(min(look, clock() + _RULES_LOOK) if reloading else look):
                        await self._intake.wake.wait()
                except TimeoutError:
                    pass
            if self.state is SyncState.RELOADING:
                async with self.changing:
                    await self._follow_rules()
            signs = self._signs
            if self._checked != signs or clock() >= look:
                try:
                    await self._writer.probe()
                finally:  # an OPA that was restarted has lost everything, and is synced again
                    self._checked = signs
                look = clock() + PROBE
            if (began := clock()) >= audit:
                await self._audit()
                audit = clock() + max(AUDIT, _AUDIT_SHARE * (clock() - began))
            if self.waiting:
                async with self.changing:
                    await self._write_batch()
                self._intake.pending.written()

    async def _audit(self) -> None:
        try:
            same = await self._writer.audit()
        except Lost:
            self.counted.audits["different"] += 1
            raise
        self.counted.audits["same" if same else "different"] += 1

    async def _follow_rules(self) -> None:
        """Continue once OPA has the served modules. Raises Lost if links must be computed again."""
        rules = self._rules() if self.state is SyncState.RELOADING else None
        if rules is None:
            return
        if rules != self._linked_by or self._claim.rules_doubtful:
            raise Lost("the active modules compute different links", reason="modules")
        self._machine.on(SyncEvent.MODULES_LOADED)
        await self._describe()  # modules define levels, which traits of kinds depend on
        await self._writer.renew_facts()  # modules define the levels and the bounds that facts depend on
        if self.state is SyncState.RENEWING:  # otherwise they change again
            self._machine.on(SyncEvent.RENEWED)
            self._notify(Notice(refilled=True))

    async def _write_batch(self) -> None:
        batch = self._intake.take_out(BATCH, BATCH_BYTES, in_turn=True)
        since = dict(zip(map(str, batch), self._intake.pending.arrivals, strict=True)) if tracing.on() else {}
        with tracing.opened("change", since) as changes, tracing.span("replicate", links=changes):
            await self._write_objects(batch)

    async def _write_objects(self, batch: dict[Key, Object | None]) -> None:
        written = await self._writer.write(batch)
        self.counted.count_arrivals(self._intake.pending.arrivals)
        keys = [key for key, before in written.items() if before.essence != self._writer.documents.known(key).essence]
        if kinds := self._writer.kinds_outdated:
            await self._describe()
            await self._writer.renew_facts()
        if written:
            was = {key: written[key].paths for key in keys if written[key].paths}
            reported = written.keys() - set(keys)
            self._notify(Notice(tuple(keys), tuple(reported), was, kinds=kinds, traces=tracing.current()))

    def _notify(self, notice: Notice) -> None:
        named = {key.type_id for key in notice.keys}
        for listener, types in list(self._listeners.items()):
            if not types or notice.refilled or types & named:
                listener(notice)


def _reason(lost: OpaError | None) -> str:
    """Return why a sync is necessary, in one word (`bridge.replicator.intake.FILLS`)."""
    if lost is None:
        return "start"
    return lost.reason if isinstance(lost, Lost) else "rejected"


class SyncState(Enum):
    """What OPA has of the source's objects."""

    CONNECTING = "The bridge waits for an OPA that responds and has loaded the bridge's modules"
    SYNCING = "The bridge writes the objects of the source's first listings"
    OUTDATED = "As SYNCING, while OPA loads other modules than the sync began with"
    SYNCED = "OPA has every object; the bridge writes changes as they arrive"
    UNRESPONSIVE = "OPA has every object, and delays a write or a query"
    RELOADING = "OPA has every object, and loads other modules"
    RENEWING = "OPA has loaded other modules, and the bridge recomputes the facts that depend on them"


class SyncEvent(Enum):
    """What changes a SyncState."""

    MODULES_LOADED = "OPA has loaded the served modules"
    MODULES_CHANGE = "The policy loader is about to serve other modules for links or merges"
    WRITTEN = "OPA has every object of the first listings"
    DELAYED = "OPA does not respond to a write or a query"
    ANSWERED = "OPA responds again"
    RENEWED = "The facts are recomputed"
    LOST = "OPA lacks what was written, its links must be recomputed, or it rejects a write"


_S, _E = SyncState, SyncEvent

SYNC: Mapping[SyncState, Mapping[SyncEvent, SyncState]] = {
    _S.CONNECTING: {_E.MODULES_LOADED: _S.SYNCING, _E.MODULES_CHANGE: _S.CONNECTING},
    _S.SYNCING: {
        _E.WRITTEN: _S.SYNCED,
        _E.MODULES_CHANGE: _S.OUTDATED,
        _E.DELAYED: _S.SYNCING,
        _E.ANSWERED: _S.SYNCING,
        _E.LOST: _S.CONNECTING,
    },
    _S.OUTDATED: {
        _E.WRITTEN: _S.RELOADING,
        _E.MODULES_CHANGE: _S.OUTDATED,
        _E.DELAYED: _S.OUTDATED,
        _E.ANSWERED: _S.OUTDATED,
        _E.LOST: _S.CONNECTING,
    },
    _S.SYNCED: {
        _E.DELAYED: _S.UNRESPONSIVE,
        _E.ANSWERED: _S.SYNCED,  # of a delay before other modules were loaded
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.UNRESPONSIVE: {
        _E.ANSWERED: _S.SYNCED,
        _E.DELAYED: _S.UNRESPONSIVE,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.RELOADING: {
        _E.MODULES_LOADED: _S.RENEWING,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.DELAYED: _S.RELOADING,
        _E.ANSWERED: _S.RELOADING,
        _E.LOST: _S.CONNECTING,
    },
    _S.RENEWING: {
        _E.RENEWED: _S.SYNCED,
        _E.MODULES_CHANGE: _S.RELOADING,
        _E.DELAYED: _S.RENEWING,
        _E.ANSWERED: _S.RENEWING,
        _E.LOST: _S.CONNECTING,
    },
}


class IllegalTransition(RuntimeError):
    """An event in a state that has no transition for it: a defect of the program."""


class SyncMachine:
    """The current state, which only the transitions of the table change. `synced` is set exactly in SYNCED."""

    def __init__(self, state: SyncState = SyncState.CONNECTING) -> None:
        self.synced = asyncio.Event()
        self.state = state

    def on(self, event: SyncEvent) -> SyncState:
        """Make the transition of an event; return the new state. Raises IllegalTransition if there is none."""
        following = SYNC[self.state].get(event)
        if following is None:
            raise IllegalTransition(f"{self.state} has no transition for {event}")
        self.state = following
        if following is SyncState.SYNCED:
            self.synced.set()
        else:
            self.synced.clear()
        return following


EVERY = 60.0  # seconds between two collections of a long sync: a usual one ends before
_SHARE = 50  # a collection is followed by at least this multiple of its own duration


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable collections in the block; objects at its end are excluded from later ones.

    The collector examines everything repeatedly while everything grows, and finds nothing: parsing 24 MB of JSON takes
    0.11 s without it, and 0.41 s with it. Garbage since the last such block is collected first, because excluded
    garbage would stay forever. In a block within another block nothing is collected.
    """
    was = gc.isenabled()
    if was and gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


async def collect_seldom() -> None:
    """Collect occasionally until cancelled, for a block without the collector of unknown duration.

    A sync that waits for an unavailable API server or OPA makes garbage with each attempt.
    """
    wait = EVERY
    while True:
        await asyncio.sleep(wait)
        began = time.monotonic()
        gc.collect()
        wait = max(EVERY, _SHARE * (time.monotonic() - began))


def give_back() -> None:
    """Return free memory to the system, if the C library can (glibc): about 10% after a sync."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
