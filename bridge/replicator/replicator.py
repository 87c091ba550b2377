"""The replicator: change -> links -> one write. It syncs OPA again when the data there differs from what it wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

import structlog

from bridge import tracing
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.notice import Listener, Notice
from bridge.model.recording import Record, record_nothing
from bridge.model.types import DESCRIBING
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUndefined
from bridge.pacing import Backoff
from bridge.replicator.claim import SLOW, Claim, Lost
from bridge.replicator.counts import ReplicationCounts
from bridge.replicator.initial_sync import PROBE, Filling, give_back, without_collector
from bridge.replicator.intake import Intake, Troubles
from bridge.replicator.pending import Pending
from bridge.replicator.policy_kinds import Describing
from bridge.replicator.pruning import prune
from bridge.replicator.writer import Writer
from bridge.sources.base import Source

log = structlog.get_logger(__name__)

PATIENCE = SLOW  # seconds until a report
BRISK = 3.0  # seconds of frequent checks: an OPA that has just started soon responds
_FIRST_LOOK = 0.03  # seconds between two checks in that time, which cost OPA nothing; then the waits double
_LONGEST_LOOK = 1.0


async def modules_in_force(opa: Opa, rules: Callable[[], str | None]) -> None:
    """Wait for an OPA that responds and has the bridge's Rego; report once what it waits for.

    `rules` returns None while OPA does not have the expected modules.
    """
    said = ""
    backoff = Backoff(_FIRST_LOOK, _LONGEST_LOOK)
    since = asyncio.get_running_loop().time()
    while True:
        try:
            await opa.query("links", {"objects": []})
            if rules() is not None:
                return
            why = "OPA has not taken the modules yet that are served"
        except OpaUndefined:
            why = (
                "OPA has not loaded the bridge's modules yet; one that the bridge did not start is to be started "
                "with what `bridge opa-config` prints"
            )
        except OpaError as error:
            why = str(error)
        waited = asyncio.get_running_loop().time() - since
        if why != said and waited > PATIENCE:
            log.info("waiting for OPA", why=why)
            said = why
        await asyncio.sleep(backoff.next() if waited > BRISK else _FIRST_LOOK)


BATCH = 100  # objects of a write, so a change waits for few others
BATCH_BYTES = 512 << 10  # of these objects together: OPA parses about 100 MB a second
AUDIT = 60.0  # seconds between two audits of all of OPA's data
_AUDIT_SHARE = 200  # an audit is followed by at least this multiple of its own duration
_RULES_LOOK = 0.05  # seconds between two checks whether OPA has loaded other modules
_FIRST_WAIT = 0.1  # seconds before a failed sync is retried; the waits double
_LONGEST_WAIT = 10.0


class Replicator:
    """Keeps OPA's documents equal to a source. `run` does the work until it is cancelled.

    `types` are the kinds (`<group>/<Kind>`) that are always replicated, in addition to active policy kinds. Listeners
    are called after OPA has a change. `filled` is set while OPA responds and has everything that the source has
    delivered. `owner` identifies this bridge to others on the same OPA, also after a restart. `content` identifies the
    origin of the documents (the cluster and the Rego): OPA's data of the same content is reused. `rules` returns the
    other inputs of links, None while OPA does not have the expected modules. `asked` are types that a setting names: a
    missing one causes a warning. `prune` removes fields that OPA must not have. `record` gets a warning for each
    rejected object.
    """

    def __init__(  # noqa: PLR0913 - each says another thing of what is replicated
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
        record: Record = record_nothing,
    ) -> None:
        self.filled = asyncio.Event()
        self.counted = ReplicationCounts()
        self._opa = opa
        self._types = frozenset(types)
        self._writer = Writer(opa, Claim(opa, owner, content, self._waits_for_opa))
        pending = Pending(self._writer.documents.keys_of, prune=prune)
        self._intake = Intake(source, pending, self.counted, asked, record)
        self._describing = Describing(self._writer, self._intake, self._types)
        self._filling = Filling(self._writer, self._intake, self._describing)
        self._rules = rules
        self._linked_by = ""  # the rules that made the links
        self._rules_change = False
        self._relinks = False  # other rules were announced, whether they are active now or not
        self._doubt = False  # whether OPA has the written data
        self._looking = False  # the cause of a doubt
        self._whole = False  # the initial sync is complete
        self._listeners: list[Listener] = []
        self._following: asyncio.Task[None] | None = None
        self._writing = False

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each write."""
        self._listeners.append(listener)

    def __len__(self) -> int:
        return len(self._writer.documents)

    @property
    def objects(self) -> Mapping[str, int]:
        """Return the number of OPA's objects, by type."""
        return self._writer.documents.counts

    @property
    def troubles(self) -> Troubles:
        """Return the source's current troubles."""
        return self._intake.troubles

    @property
    def rejected(self) -> Mapping[str, int]:
        """Return the number of the source's rejected objects, by type."""
        return self._intake.rejections.counts

    @property
    def waiting(self) -> int:
        """Return the number of objects that wait for a write."""
        return len(self._intake.pending)

    @property
    def unready(self) -> str:
        """Return why OPA may not have everything, including an unverified sign of a restart; empty if it has."""
        if not self.filled.is_set():
            return "OPA does not hold everything yet"
        return "OPA may have been restarted, and is looked at" if self._doubt or self._looking else ""

    def doubt(self) -> None:
        """Check OPA immediately, because of a sign of a restart."""
        self._doubt = True
        self._intake.wake.set()

    def rules_change(self, links: bool) -> None:
        """Note that modules that declare links (`links`), or that evaluate objects, are about to change in OPA.

        Until `rules` returns that OPA has them, its results do not count; then links are computed again if necessary,
        and so is everything derived.
        """
        self._rules_change = True
        if links:
            # From now on links may be made by either; no bridge may reuse them.
            self._relinks = True
            self._writer.doubt_links()
        self.filled.clear()
        if self._whole:
            self._tell(Notice(refilling=True))
        self._intake.wake.set()

    async def run(self) -> None:
        """Follow the source and write to OPA until cancelled; wait for an unavailable OPA, and sync an empty one."""
        self._intake.want(self._types)
        async with asyncio.TaskGroup() as tasks:
            self._following = tasks.create_task(self._intake.follow())
            tasks.create_task(self._keep_filled())

    async def finish(self) -> None:
        """Stop reading changes; return once OPA has pending ones.

        An unavailable OPA, or one in a sync, is left unchanged.
        """
        if self._following:
            self._following.cancel()
        while self.filled.is_set() and (len(self._intake.pending) or self._writing):  # noqa: ASYNC110 (once in its life)
            await asyncio.sleep(0.01)
        if self.filled.is_set():
            log.info("OPA holds all that has come", objects=len(self))

    async def _keep_filled(self) -> None:
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
        again = emptied = False
        reason = "start"
        while True:
            if emptied:
                self._start_over()  # immediately: the source delivers while OPA starts
            await modules_in_force(self._opa, self._rules)
            try:
                relinks, self._relinks = self._relinks, False
                self._rules_change, self._linked_by = False, self._rules() or ""
                if await self._writer.begin(self._linked_by, relink=relinks) or (again and not emptied):
                    # Deleted objects follow from OPA's data, which is known from here on.
                    self._start_over()
                again = True
                with without_collector(), self.counted.filling(reason):
                    await self._fill()
                give_back()
                backoff.reset()
                await self._follow_up()
            except OpaError as error:
                if self._intake.exhausted:
                    raise
                reason = error.reason if isinstance(error, Lost) else "rejected"
                log.warning("OPA must be filled again", reason=reason, why=str(error))
                emptied = isinstance(error, Lost) and error.empty
                self.filled.clear()
                self._whole = False
                self._tell(Notice(refilling=True))
                await backoff.wait()

    def _waits_for_opa(self, error: OpaError | None) -> None:
        if error is None:
            if self._whole and not self._rules_change:
                log.info("OPA answers again")
                self.filled.set()
            return
        if self._intake.exhausted:
            raise error
        if self.filled.is_set():
            log.warning("waiting for OPA", why=str(error))
            self.filled.clear()

    def _start_over(self) -> None:
        self._writer.linking.forget()
        self._intake.start_over()

    async def _fill(self) -> None:
        await self._filling.fill()
        self._whole = True
        log.info("OPA is filled", objects=len(self))
        if not self._rules_change:  # otherwise the previous rules may have made some links
            self.filled.set()
            self._tell(Notice(refilled=True))

    async def _follow_up(self) -> None:
        """Write changes as they arrive; check OPA from time to time."""
        clock = asyncio.get_running_loop().time
        look, audit = clock() + PROBE, clock() + AUDIT
        while True:
            self._intake.wake.clear()
            if not len(self._intake.pending) and not self._doubt:
                try:
                    async with asyncio.timeout_at(min(look, clock() + _RULES_LOOK) if self._rules_change else look):
                        await self._intake.wake.wait()
                except TimeoutError:
                    pass
            await self._follow_rules()
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
            same = await self._writer.audit()
        except Lost:
            self.counted.audits["different"] += 1
            raise
        self.counted.audits["same" if same else "different"] += 1

    async def _follow_rules(self) -> None:
        """Continue once OPA has the served modules. Raises Lost if links must be computed again."""
        rules = self._rules() if self._rules_change else None
        if rules is None:
            return
        if rules != self._linked_by or self._relinks:
            raise Lost("its links were made by other modules than are in force now", reason="modules")
        self._rules_change = False
        await self._writer.renew_facts()  # modules define the levels and the bounds that facts depend on
        if self._rules_change:
            return  # they change again
        self.filled.set()
        self._tell(Notice(refilled=True))

    async def _write_next(self) -> None:
        if not len(self._intake.pending):
            return
        self._writing = True
        try:
            await self._write_batch()
        finally:
            self._writing = False

    async def _write_batch(self) -> None:
        batch = self._intake.take_out(BATCH, BATCH_BYTES, in_turn=True)
        since = dict(zip(map(str, batch), self._intake.pending.arrivals, strict=True)) if tracing.on() else {}
        with tracing.opened("change", since) as changes, tracing.span("replicate", links=changes):
            await self._write_objects(batch)

    async def _write_objects(self, batch: dict[Key, Object | None]) -> None:
        written = await self._writer.write(batch)
        self.counted.in_opa(self._intake.pending.arrivals)
        keys = [key for key, before in written.items() if before.essence != self._writer.documents.essence(key)]
        kinds = any(key.type_id in DESCRIBING for key in keys)
        if kinds:
            await self._describing.describe()
            await self._writer.renew_facts()
        if written:
            was = {key: written[key].paths for key in keys if written[key].paths}
            reported = written.keys() - set(keys)
            self._tell(Notice(tuple(keys), tuple(reported), was, kinds=kinds, traces=tracing.current()))

    def _tell(self, notice: Notice) -> None:
        for listener in self._listeners:
            listener(notice)
