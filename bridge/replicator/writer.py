"""Writes objects into OPA, each object in one transaction with its links, many of them in one write.

Every write advances a marker in OPA (`Claim`), so a write that is based on stale state fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from bridge.model.changes import Object
from bridge.model.keys import Key, parse_key, pointer
from bridge.model.types import DESCRIBING
from bridge.opa.batches import batches
from bridge.opa.bundle import STATE
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined
from bridge.replicator.documents import FACTS, INDEX, NO_LINKS, Documents, Facts, Index, Known, Operation
from bridge.replicator.links import Linking
from bridge.work import RETURNING, Backoff

log = structlog.get_logger(__name__)

MOST_OPERATIONS = 500  # of a write: OPA's cost grows with their square, and other clients wait meanwhile
FACTS_BATCH = 200  # objects whose facts are computed in one query, so a change waits for few
FACTS_AUDITED = 1_000  # objects whose facts one audit compares
MOST_BYTES = 32 << 20  # of a write: OPA accepts 256 MiB, and its memory peaks at several times the body


class Writer:
    """Writes objects into one OPA, and knows its contents. Methods wait and raise like those of `Claim`.

    `refuse` is called with each object that OPA cannot store (None: or remove), and why; the others are written.
    `retry` is called with a refused object that OPA may be able to store now.
    """

    def __init__(
        self,
        opa: Opa,
        claim: Claim,
        refuse: Callable[[Key, Object | None, str], None],
        retry: Callable[[Key, Object], None],
    ) -> None:
        self.documents = Documents()
        self.linking = Linking(opa, self.documents, retry)
        self._opa = opa
        self._claim = claim
        self.kinds_outdated = True  # whether OPA has other CRDs or PolicyKinds than its policy kinds were made from
        self._filled = False
        self._begun = False
        self._replacing = False  # whether the first write replaces all data
        self._refuse = refuse
        self._suspects: set[Key] = set()  # objects of a write for which OPA lacked data, until a sync ends
        self._unaudited: list[Key] = []  # objects whose facts are compared next
        self._astray = False  # OPA's index is wrong and cannot be reused

    async def begin(self, rules: str = "") -> bool:
        """Reuse OPA's data, if it has the same origin: then True. Otherwise the next write replaces all of it.

        Waits for another bridge that writes to this OPA. If other `rules` made the links, or may have, each arriving
        object is written again.
        """
        found = await self._claim.take(rules)
        self.linking.begin()
        self.kinds_outdated = True
        usable = found.usable and not self._astray
        self._filled = self._begun = False
        index: Index | None = await self._claim.ask(lambda: self._opa.get(INDEX)) if usable else None
        facts: Facts | None = await self._claim.ask(lambda: self._opa.get(FACTS)) if usable else None
        usable = index is not None and facts is not None  # otherwise another client has removed them
        if index is not None and facts is not None:
            held = await self.query("resource_versions")
            self.documents.adopt(held, index, facts, linked=found.linked)
            log.info("existing data in OPA reused", objects=len(self.documents), linked=found.linked)
        else:
            self.documents.begin()
        self._replacing = not usable
        if usable and self.documents.planned:
            await self._send()  # the removal of entries that no object has, apart from writes that OPA may refuse
        self._astray = False
        return usable

    async def finish(self) -> None:
        """Mark everything since `begin` as complete."""
        self._filled = True
        await self._send()
        self._suspects.clear()
        self.linking.forget()
        self.documents.finish()

    async def probe(self) -> None:
        """Advance the marker, which verifies OPA's data, and shows other bridges that this one is running."""
        if self._begun:
            await self._send()

    async def audit(self) -> bool:
        """Compare OPA's objects, the size of its index and some facts with the written ones.

        Returns whether all are equal. Different facts are repaired; for other differences it raises Lost.
        """
        different = self.documents.differences(await self.query("resource_versions"))
        for type_id, missing, foreign, other in different:
            log.error("objects in OPA differ", type=type_id, missing=missing, foreign=foreign, other=other)
        linked, wanted = await self.query("index_sizes"), self.documents.count_links()
        astray_facts = await self._audit_facts()
        self._astray = any(linked.get(name, 0) != count for name, count in wanted.items())
        if self._astray:
            log.error("index in OPA differs", in_opa=linked, expected=wanted)
        if different or self._astray:
            raise Lost("an audit found that data in OPA differs: another client has written to it")
        return not astray_facts

    async def _audit_facts(self) -> bool:
        """Compare the facts of some objects, different ones each time, with computed ones; repair differences.

        Returns whether some differed: another client has changed them.
        """
        if not self._unaudited:
            self._unaudited = list(self.documents)
        keys = [key for key in self._unaudited[-FACTS_AUDITED:] if key in self.documents]
        del self._unaudited[-FACTS_AUDITED:]
        astray = False
        for batch in batches(keys, FACTS_BATCH):
            query_input = {"keys": list(map(str, batch))}
            different = await self._claim.ask(functools.partial(self._opa.query, "stale_facts", query_input))
            if different:
                astray = True
                log.error("stale facts in OPA repaired", objects=different)
                made = await self._claim.ask(functools.partial(self.linking.query_stored, different))
                for key in map(parse_key, different):
                    self.documents.repair_facts(key, made.get(key, NO_LINKS).facts)
                await self._send()
        return astray

    async def query(self, query: str) -> Any:
        """Return the result of a query without input, from an OPA with the written data."""
        return await self._claim.ask(lambda: self._opa.query(query, {}))

    async def plan_kinds(self, documents: dict[str, Any]) -> None:
        """Store the documents of the active policy kinds, by name, as OPA computes them from the written objects."""
        self.documents.plan_kinds(documents)
        await self._send()
        self.kinds_outdated = False
        self.linking.begin()  # a kind names fields by which its policies select, and links read these

    async def renew_facts(self) -> None:
        """Compute the facts again whose inputs, policy kinds and modules, have changed.

        The index entries of these objects may differ too: policy kinds name the fields by which policies select.
        """
        keys = self.documents.find_outdated(await self.query("stamps"))
        for batch in batches(keys, FACTS_BATCH):
            made = await self._claim.ask(functools.partial(self.linking.query_stored, list(map(str, batch))))
            for key in batch:
                self.documents.plan_links(key, made.get(key, NO_LINKS))
            await self._send()
        if keys:
            log.info("facts refreshed", objects=len(keys))

    async def write(self, batch: dict[Key, Object | None]) -> dict[Key, Known]:
        """Write differences to OPA; return the changed objects, in their previous state.

        None means a deleted object.
        """
        deletes = [key for key, obj in batch.items() if obj is None and key in self.documents]
        upserts: dict[Key, Object] = {}
        for key, obj in batch.items():
            if obj is not None and self.documents.has(key, obj):
                self.documents.record_essence(key, obj)
            elif obj is not None:
                upserts[key] = obj
        self.linking.drop(batch.keys() - upserts.keys())
        made = await self._claim.ask(lambda: self.linking.query(upserts))
        # Where the links of an object cannot be computed, queries about it may fail, too: OPA does not get it.
        for key, why in [(key, one.failure) for key, one in made.items() if one.failure]:
            self._refuse(key, upserts.pop(key), f"evaluation fails on it ({why})")
            if key in self.documents:
                deletes.append(key)
        written: dict[Key, Known] = {}
        for key in (*deletes, *upserts):
            written[key] = self.documents.known(key)

        def plan(key: Key) -> None:
            if key in upserts:
                self.documents.plan_object(key, upserts[key], made[key].links, made[key].made_from)
            else:
                self.documents.remove(key)

        for key in await self._write_or_refuse(deletes, upserts, plan):
            del written[key]
        self.kinds_outdated |= any(
            key.type_id in DESCRIBING and before.essence != self.documents.known(key).essence
            for key, before in written.items()
        )
        return written

    async def _write_or_refuse(
        self, deletes: Sequence[Key], upserts: Mapping[Key, Object], plan: Callable[[Key], None]
    ) -> list[Key]:
        """Write each object; return those that OPA has as before."""
        refused = await self._write_each([*deletes, *upserts], plan)
        # Policies must not be evaluated with a former state of an object.
        former = [key for key in refused if key in upserts and key in self.documents]
        kept = await self._write_each(former, self.documents.remove) if former else {}
        for key, why in refused.items():
            self._refuse(key, upserts.get(key), f"OPA refuses it ({why})")
        return [key for key in refused if key not in former or key in kept]

    async def _write_each(self, keys: Sequence[Key], plan: Callable[[Key], None]) -> dict[Key, str]:
        """Plan the write of each object, and send the plans together, in parts if they are large.

        Returns the objects that OPA refuses, with the reasons. A refused write is repeated in halves, so one object
        never stops the others. Raises Lost if OPA refuses a write without objects, too, or lacks data, once a sync: the
        cause is another client then.
        """
        refused: dict[Key, str] = {}
        parts: list[Sequence[Key]] = [keys]
        while parts:
            part = parts.pop()
            count = 0
            for key in part:
                plan(key)
                count += 1
                if self.documents.planned >= MOST_OPERATIONS or self.documents.planned_bytes >= MOST_BYTES:
                    break
            if count < len(part):
                parts.append(part[count:])
            sent = part[:count]
            try:
                if self.documents.planned or not self._begun:
                    await self._send()
            except ContentRefused as error:
                if error.reason == "changed" and self._suspects.isdisjoint(sent):
                    self._suspects.update(sent)
                    raise
                await self._take_back()
                if count <= 1:
                    refused |= dict.fromkeys(sent, str(error.__cause__))
                else:
                    parts += [sent[count // 2 :], sent[: count // 2]]
        return refused

    async def _take_back(self) -> None:
        """Undo the refused plan, and verify that OPA accepts a write without it."""
        if self._replacing and not self._begun:
            self.documents.begin()
        else:
            self.documents.undo()
        await self._send()

    async def _send(self) -> None:
        await self._claim.write(self.documents.take_plan(), filled=self._filled)
        self.documents.confirm()
        self._begun = True


DOUBTFUL = "?"  # instead of the rules that made links; no rules have this name
STANDSTILL = 6  # checks without a change, after which another bridge's marker has no bridge
SLOW = 3.0  # seconds without a response, after which it is reported
LOOK = 1.0  # seconds between two checks of an OPA
_NOT_FOUND = 404
_OF_CONTENT = {400, _NOT_FOUND, 413}  # invalid, without the target of an operation, too large
_FAILURES = 6  # of one write, in 2.5 s or more, while OPA responds to other requests
_THROTTLED = 429
_SERVER_ERROR = 500

Answer = TypeVar("Answer")
Waiting = Callable[[OpaError | None], None]


class Lost(OpaError):
    """OPA does not have the written data: it was restarted (then it is `empty`), or another bridge writes to it.

    `reason` is one word: `restarted`, `changed` by another client, or `modules` (others declare its links).
    """

    def __init__(self, message: str, *, empty: bool = False, reason: str = "") -> None:
        super().__init__(message)
        self.empty = empty
        self.reason = reason or ("restarted" if empty else "changed")


class ContentRefused(Lost):
    """OPA refuses a write because of its content; it has the data from before.

    The `reason` is `rejected`, or `changed` if OPA has no document where the write expects one.
    """


class _Marker(NamedTuple):
    owner: str
    content: str  # the origin of the documents
    rules: str  # the other inputs of their links
    at: str  # empty: there is none
    complete: bool


class FoundMarker(NamedTuple):
    """The state of OPA: documents from the same content are `usable`, with links by the same `rules`."""

    usable: bool
    linked: bool


class Claim:
    """Writes to one OPA for `owner` (which identifies one bridge, also after a restart), with a marker.

    - `data.bridge_state.at` has one key, `<epoch>.<number>`. Each write removes it and adds the next one, in its own
      transaction: JSON Patch rejects the whole write if the key differs or is missing (OPA was restarted, another
      bridge took over, or this write has already arrived).
    - A write without a response may have arrived or not: the marker shows it, and the write is repeated only if it has
      not arrived.
    - A bridge advances its marker every few seconds even without changes: a marker that does not change has no bridge.
    - An OPA with the advancing marker of another bridge is left to it; it is taken over when the marker stops.

    `content` identifies the origin of the documents (the cluster and the Rego); empty: unknown. `waiting` is called
    with the reason when OPA delays a write or a query, and with None when it continues; it may raise, to give up.
    Methods wait for an unavailable OPA; they raise Lost if it has other data afterwards, and OpaError for permanent
    errors.
    """

    def __init__(self, opa: Opa, owner: str = "", content: str = "", waiting: Waiting = lambda _: None) -> None:
        self._opa = opa
        self._owner = owner or uuid.uuid4().hex
        self._content = content
        self._rules = ""
        # Since `take`, links may be made by other rules: the marker names none from the next write on.
        self.rules_doubtful = False
        self._waiting = waiting
        self._stalled = False
        self._epoch = ""
        self._number = 0
        self._at = ""  # the current place of the marker
        self._beginning = False
        self.complete = False  # whether OPA has had every object since it was empty

    async def take(self, rules: str = "") -> FoundMarker:
        """Wait until no other bridge writes to this OPA. The next write begins a new epoch.

        If OPA has documents of the same `content`, only differences must be written; `rules` identifies the inputs of
        links that `content` does not include.
        """
        doubtful, self.rules_doubtful = self.rules_doubtful, False
        self._rules = rules
        seen, looks = "", 0
        while True:
            marker = _read(await self.ask(lambda: self._opa.get(STATE)))
            looks = looks + 1 if marker.at == seen else 0
            if not marker.at or marker.owner in {"", self._owner} or looks >= STANDSTILL:
                break
            if not seen:
                log.warning("waiting for another bridge to release OPA", owner=marker.owner)
            seen = marker.at
            await asyncio.sleep(LOOK)
        self._epoch, self._number, self._at, self._beginning = uuid.uuid4().hex, 0, marker.at, True
        usable = bool(marker.at and self._content and marker.content == self._content)
        self.complete = usable and marker.complete
        return FoundMarker(usable, marker.rules == rules and not doubtful)

    async def write(self, operations: Sequence[Operation], *, filled: bool) -> None:
        """Apply a JSON Patch exactly once. `filled` means that OPA then has everything.

        Raises ContentRefused if OPA does not accept these operations.
        """
        following = f"{self._epoch}.{self._number + 1}"
        complete = self.complete or filled
        steps: list[Operation] = []
        if self._at:
            steps.append({"op": "remove", "path": pointer(STATE, "at", self._at)})
        if self._beginning:
            whose = {"epoch": self._epoch, "owner": self._owner, "content": self._content}
            rules = DOUBTFUL if self.rules_doubtful else self._rules
            marker = {**whose, "rules": rules, "filled": filled, "complete": complete, "at": {following: True}}
            steps.append({"op": "add", "path": pointer(STATE), "value": marker})
        else:
            steps.append({"op": "add", "path": pointer(STATE, "at", following), "value": True})
            steps.append({"op": "replace", "path": pointer(STATE, "filled"), "value": filled})
            if complete != self.complete:
                steps.append({"op": "replace", "path": pointer(STATE, "complete"), "value": complete})
            if self.rules_doubtful:
                steps.append({"op": "replace", "path": pointer(STATE, "rules"), "value": DOUBTFUL})
        await self._deliver([*steps, *operations], following)
        self._number += 1
        self._at, self._beginning, self.complete = following, False, complete

    async def ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the result of a query. Except during `take`, an OPA that was unavailable is checked first."""
        async for attempt in self._attempts(lambda error: _is_passing(error) or isinstance(error, OpaUndefined)):
            with attempt:
                if attempt.retry_state.attempt_number > 1 and self._number:
                    await self._has_arrived("")
                with self._check_meanwhile():
                    answer = await question()
        self._report_delay(None)
        return answer

    def _attempts(self, can_pass: Callable[[OpaError], bool]) -> AsyncRetrying:
        """Return attempts at a request until an OPA that is away is back; each failure of that kind is reported."""

        def report(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            self._report_delay(error if isinstance(error, OpaError) else None)

        return AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, OpaError) and can_pass(error)),
            wait=RETURNING,
            before_sleep=report,
            sleep=asyncio.sleep,
        )

    async def _deliver(self, body: list[Operation], following: str) -> None:
        # No AsyncRetrying: between two attempts the marker shows whether the first one has arrived, which ends them.
        backoff = Backoff(RETURNING)
        failures = 0
        while True:
            telling = asyncio.get_running_loop().call_later(SLOW, self._report_slow)
            try:
                await self._opa.patch(body)
                break
            except OpaError as error:
                # Rejected because of the marker, or because of its content: the marker shows which.
                status = error.status if isinstance(error, OpaRejected) else 0
                if status not in _OF_CONTENT:
                    if not _is_passing(error):
                        raise
                    self._report_delay(error)
                    await backoff.wait()
                if await self._has_arrived(following):
                    break
                failures += status != _THROTTLED
                if status == _NOT_FOUND:
                    message = "OPA lacks written data: another client has removed it"
                    raise ContentRefused(message, reason="changed") from error
                if status in _OF_CONTENT or failures == _FAILURES:
                    raise ContentRefused(str(error), reason="rejected") from error
            finally:
                telling.cancel()
        self._report_delay(None)

    async def _has_arrived(self, following: str) -> bool:
        """Return whether the write with the marker `following` is in OPA. Raises Lost for another marker."""
        async for attempt in self._attempts(lambda _: True):
            with attempt:
                marker = _read(await self._opa.get(STATE))
        if following and marker.at == following:
            return True
        if marker.at == self._at:
            return False
        if marker.at and marker.owner != self._owner:
            cause = f"{marker.owner} maintains it"
        else:
            cause = f"it {'has an earlier state' if marker.at else 'was restarted'}, or another OPA responds there"
        raise Lost(f"data in OPA differs from the written data: {cause}", empty=not marker.at)

    @contextlib.contextmanager
    def _check_meanwhile(self) -> Iterator[None]:
        """Report an OPA without any response for SLOW seconds: a query may take long, a small one does not."""
        looks: list[asyncio.Task[None]] = []
        timer = asyncio.get_running_loop().call_later(LOOK, lambda: looks.append(asyncio.create_task(self._look())))
        try:
            yield
        finally:
            timer.cancel()
            for look in looks:
                look.cancel()

    async def _look(self) -> None:
        try:
            while True:
                async with asyncio.timeout(SLOW - LOOK):
                    await self._opa.get(STATE)
                await asyncio.sleep(LOOK)
        except (TimeoutError, OpaError):
            self._report_slow()

    def _report_slow(self) -> None:
        with contextlib.suppress(OpaError):  # the caller gives up after a response, or without any
            self._report_delay(OpaError(f"OPA has not responded for {SLOW:g} s"))

    def _report_delay(self, error: OpaError | None) -> None:
        if error is not None or self._stalled:
            self._waiting(error)
            self._stalled = error is not None


def _is_passing(error: OpaError) -> bool:
    """Return whether waiting can help."""
    if isinstance(error, OpaRejected):
        return error.status == _THROTTLED or (error.status >= _SERVER_ERROR and not error.in_evaluation)
    return isinstance(error, OpaUnavailable) or type(error) is OpaError  # which means that no OPA responds there


def _read(found: Any) -> _Marker:
    """Parse the marker of a document; an invalid one counts as none."""
    if not isinstance(found, dict):
        return _Marker("", "", "", "", complete=False)
    at = found.get("at")
    place = next(iter(at)) if isinstance(at, dict) and len(at) == 1 else ""
    owner, content, rules = (str(found.get(name, "")) for name in ("owner", "content", "rules"))
    return _Marker(owner, content, rules, place, complete=found.get("complete") is True)
