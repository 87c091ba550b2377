"""The loop: keeps everything that is derived from OPA's documents up to date, at the cost of each change.

A *result* (`Derived`) has a value for each of its keys. The loop decides when and in which order values are computed
again; a result only says which keys a change concerns, and computes values.

    notice -> one query `outdated` for all results -> stale keys of each result, in turns -> values -> settled

- The query is asked once for changes that wait, in turns of their namespaces, with the parts that the present results
  want: about those of one namespace, or a few of several, so a namespace with many changes delays another by one query.
  One that fails or takes too long is asked in halves, beside the others.
- A key is stale once, however many changes concern it.
- While OPA is synced again, nothing is computed. After that, everything is stale.
- OPA that does not answer is asked again. After any other failure of a result, all of its keys are stale, with growing
  delays. One result never waits for another.
- A result notices a change when OPA has it, also while it computes; one may need no query. It may let a key rest before
  it is computed again, and compute everything once a period.
"""

import asyncio
import contextlib
import math
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from bridge import tracing
from bridge.model.changes import Notice, merge_notices
from bridge.model.keys import Key
from bridge.opa.batches import may_succeed_in_part, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaUnavailable, OpaUndefined
from bridge.work import FAILED, PAUSE, Backoff, Turns, delay_after

KEYS = 500  # changed objects of one namespace in a query
FEW = 100  # changed objects of several namespaces in a query


@dataclass(eq=False, frozen=True, slots=True)
class Question:
    """Changes as one, about which OPA is asked: those of these namespaces.

    The first of them arrived at the time `since`, and has the number `revision`. `again` means that an earlier query
    about them took too long.
    """

    change: Notice
    namespaces: frozenset[str]
    since: float
    revision: int
    again: bool = False

    def about(self, key: Key, revision: int) -> "Question":
        """Return the question about one of the objects that is asked again."""
        return Question(cut(self.change, (key,), ()), frozenset([key.namespace]), self.since, revision, again=True)


class _Waiting(NamedTuple):
    change: Notice  # of one namespace
    since: float
    revision: int


@dataclass(slots=True)
class WaitingChanges:
    """The changes by namespace, whose turn it is in front."""

    _by_namespace: OrderedDict[str, deque[_Waiting]] = field(default_factory=OrderedDict)
    _apart: set[str] = field(default_factory=set)  # namespaces whose changes are asked about alone

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    @property
    def first_revision(self) -> int | None:
        """The number of the oldest change; None without any."""
        waiting = (one.revision for changes in self._by_namespace.values() for one in changes)
        return min(waiting, default=None)

    def add(self, notice: Notice, revision: int) -> None:
        """Add a change."""
        since = asyncio.get_running_loop().time()
        for namespace, own in _split_by_namespace(notice).items():
            self._by_namespace.setdefault(namespace, deque()).append(_Waiting(own, since, revision))

    def put_back(self, question: Question, *, apart: bool = False) -> None:
        """Let changes wait again, before later ones; `apart` asks about each of their namespaces alone."""
        for namespace, own in _split_by_namespace(question.change).items():
            changes = self._by_namespace.setdefault(namespace, deque())
            changes.appendleft(_Waiting(own, question.since, question.revision))
            if apart:
                self._apart.add(namespace)
                self._by_namespace.move_to_end(namespace, last=False)

    def clear(self) -> None:
        """Drop all changes."""
        self._by_namespace.clear()
        self._apart.clear()

    def take(self) -> Question | None:
        """Remove and return the changes to ask about next; None without any.

        A change of policy kinds takes all others along: what they concern may follow from the new description.
        """
        if not self._by_namespace:
            return None
        if any(one.change.kinds for changes in self._by_namespace.values() for one in changes):
            taken = [one for changes in self._by_namespace.values() for one in changes]
            namespaces = frozenset(self._by_namespace)
            self.clear()
            return _as_question(taken, namespaces)
        namespace, changes = self._by_namespace.popitem(last=False)
        taken = [changes.popleft()]
        count = _count(taken)
        while changes and count + _count([changes[0]]) <= KEYS:
            taken.append(changes.popleft())
            count += _count(taken[-1:])
        if changes:
            self._by_namespace[namespace] = changes
        elif namespace not in self._apart:
            return self._take_others(namespace, taken, FEW - count)
        self._apart.discard(namespace)
        return _as_question(taken, frozenset([namespace]))

    def _take_others(self, namespace: str, taken: list[_Waiting], most: int) -> Question:
        """Take changes of `most` objects of other namespaces along."""
        together = {namespace}
        for other in [name for name in self._by_namespace if name not in self._apart]:
            if most <= 0:
                break
            if (count := _count(self._by_namespace[other])) <= most:
                most -= count
                taken.extend(self._by_namespace.pop(other))
                together.add(other)
        return _as_question(taken, frozenset(together))


def _count(waiting: Iterable[_Waiting]) -> int:
    return sum(len(one.change.keys) for one in waiting)


def _as_question(waiting: Sequence[_Waiting], namespaces: frozenset[str]) -> Question:
    change = merge_notices([one.change for one in waiting])
    return Question(change, namespaces, min(one.since for one in waiting), min(one.revision for one in waiting))


def _split_by_namespace(notice: Notice) -> dict[str, Notice]:
    keys: dict[str, list[Key]] = {}
    reported: dict[str, list[Key]] = {}
    for key in notice.keys:
        keys.setdefault(key.namespace, []).append(key)
    for key in notice.reported:
        reported.setdefault(key.namespace, []).append(key)
    namespaces = dict.fromkeys((*keys, *reported))
    if len(namespaces) < 2:
        return {next(iter(namespaces), ""): notice}
    return {name: cut(notice, keys.get(name, ()), reported.get(name, ())) for name in namespaces}


def cut(notice: Notice, keys: Sequence[Key], reported: Sequence[Key]) -> Notice:
    """Return the part of a change about these objects."""
    was = {key: notice.was[key] for key in keys if key in notice.was}
    return Notice(tuple(keys), tuple(reported), was, kinds=notice.kinds, traces=notice.traces)


K = TypeVar("K", bound=Hashable)

log = structlog.get_logger(__name__)

_TICK = 0.001  # seconds: a rest that is shorter by rounding is over then


@dataclass(frozen=True, slots=True)
class Outdated:
    """Changes that OPA has, as one, and the parts of the query `outdated` about them, by name.

    A change without changed declarations (`keys`) has no parts. `namespaces` are those of the changes, and `traces` has
    the span of the query.
    """

    change: Notice
    parts: Mapping[str, Any] = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    traces: tuple[Any, ...] = ()


class Derived(ABC, Generic[K]):
    """One result. `name` is for the log; one that is computed `before_sync` does not wait for OPA's first sync.

    Where OPA takes too long to say what an object's change concerns, all keys are stale. A result that is `patient`
    keeps its values instead, and OPA is asked about the object again later, with growing delays.
    """

    name: str
    before_sync = False
    patient = False
    asks = True  # whether changes wait for the query; otherwise `notice` adds the keys that they concern
    types: frozenset[str] = frozenset()  # the types of changes that it notices; without any, all
    newest_first = True  # whether keys that a change concerns come before their owner's others
    period = math.inf  # seconds after which all keys are stale again

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:  # noqa: ARG002 - for those that need it
        """Return the parts of the query `outdated` that `keys_of` needs, each with its input.

        The first of the changes arrived at the time `since`.
        """
        return {}

    def wants_besides(self, change: Notice) -> Mapping[str, Any]:  # noqa: ARG002 - for those that need it
        """Return parts that save this result further queries: the answer lacks them if they fail or take too long."""
        return {}

    def is_large(self, outdated: Outdated) -> bool:  # noqa: ARG002 - for those that need it
        """Return whether changes of several namespaces concern too much to be one: each is asked about alone then."""
        return False

    def notice(self, change: Notice) -> None:
        """Take in a change that OPA has, before OPA says what it concerns."""

    def hear(self, outdated: Outdated) -> None:
        """Take in what OPA says about changes, at once; `keys_of` follows when it is this result's turn."""

    async def keys_of(self, outdated: Outdated) -> Iterable[K] | None:  # noqa: ARG002 - for those that ask
        """Return the keys whose values changes concern; None: any. May raise an OpaError."""
        return ()

    @abstractmethod
    def every(self) -> AsyncIterator[Iterable[K]]:
        """Yield all keys, in groups: the next one is requested when no key is stale. May raise an OpaError."""

    @abstractmethod
    async def compute(self, keys: Sequence[K]) -> None:
        """Compute the values of these keys from what OPA has now, and keep them. May raise an OpaError."""

    def owner_of(self, key: K) -> Hashable:  # noqa: ARG002 - one owner by default
        """Return the owner of a key: owners take turns."""
        return ""

    @abstractmethod
    def take(self, stale: Turns[K]) -> Iterable[Sequence[K]]:
        """Remove and return the keys to compute next, in batches: one that fails keeps no other.

        There is at least one, unless all of them rest.
        """

    def rest(self, key: K) -> float:  # noqa: ARG002 - for those with a pace
        """Return the seconds for which a stale key is not taken."""
        return 0.0

    def distrust(self) -> None:
        """Note that OPA is about to be synced again: no value counts until `settle`."""

    def forget(self) -> None:
        """Note that a computation failed in a way that may have spoiled values: all are computed again."""

    def settle(self, revision: int) -> None:
        """Note that no key is stale, as of this revision of OPA's data."""


class Loop:
    """Computes results; `take_in` takes the replicator's notices, `run` works until cancelled.

    `revision` numbers the states of OPA's data, and `epoch` its syncs, begun or ended: what was computed in an earlier
    one is ignored.
    """

    def __init__(self, opa: Opa) -> None:
        self.revision = self.epoch = 0
        self._opa = opa
        self._works: dict[Derived[Any], _Work[Any]] = {}
        self._waiting = WaitingChanges()
        self._asking: list[Question] = []  # which OPA has not answered; a sync removes them
        self._hard: asyncio.Queue[Question] = asyncio.Queue()  # those of them that are asked in halves
        self._timeouts: Counter[Key] = Counter()  # in a row
        self._is_synced: bool | None = None  # None before the first sync
        self._backoff = Backoff(FAILED)
        self._wake = asyncio.Event()
        self._progress = _Signal()  # that a result may be settled
        self._tasks: asyncio.TaskGroup | None = None

    def take_in(self, notice: Notice) -> None:
        """Process a notice of the replicator."""
        self.revision += 1
        if notice.refilling or notice.refilled:
            self.epoch += 1
            self._is_synced = notice.refilled
            self._waiting.clear()
            self._asking.clear()
            self._timeouts.clear()
            for work in self._works.values():
                work.sync(self.revision, ended=notice.refilled)
            return
        named = {key.type_id for key in notice.keys}
        for work in self._works.values():
            if not work.result.types or work.result.types & named:
                work.result.notice(notice)
        self._waiting.add(notice, self.revision)
        self._wake.set()

    def follow(self, result: Derived[K]) -> None:
        """Compute this result from now on, beginning with all of its keys."""
        may_work = result.before_sync if self._is_synced is None else self._is_synced
        work = self._works[result] = _Work(result, self.revision, self._progress, may_work=may_work)
        if self._tasks:
            work.task = self._tasks.create_task(work.run())

    @contextlib.contextmanager
    def following(self, result: Derived[K]) -> Iterator[None]:
        """Keep a result up to date within the block."""
        self.follow(result)
        try:
            yield
        finally:
            self.leave(result)

    def leave(self, result: Derived[Any]) -> None:
        """Stop computing this result."""
        work = self._works.pop(result)
        if work.task:
            work.task.cancel()

    def add(self, result: Derived[K], keys: Iterable[K]) -> None:
        """Note that keys are stale for another reason than a change in OPA; nothing to do where all of them are."""
        if work := self._works.get(result):
            work.add(keys)

    def hear(self, result: Derived[Any], change: Notice) -> None:
        """Let a result process a change of something other than OPA data. Before `follow` there is nothing to do."""
        if work := self._works.get(result):
            work.hear(Outdated(change), self.known_revision)

    def renew(self, result: Derived[Any]) -> None:
        """Note that all keys of a result are stale for another reason than a change in OPA."""
        if work := self._works.get(result):
            work.start_over(self.revision)

    def is_renewing(self, result: Derived[Any]) -> bool:
        """Return whether all keys of a result are stale: what is being computed of it is not of one state."""
        work = self._works.get(result)
        return work is not None and work.is_renewing

    @property
    def is_synced(self) -> bool:
        """Whether OPA has everything: it was synced, and is not being synced again."""
        return bool(self._is_synced)

    def count_stale(self, result: Derived[Any]) -> int:
        """Return the number of keys that are known to be stale."""
        work = self._works.get(result)
        return work.count_stale() if work else 0

    async def settled(self, result: Derived[Any]) -> None:
        """Wait until a result is settled."""
        while not self.is_settled(result):
            await self._progress.wait()

    def is_settled(self, result: Derived[Any]) -> bool:
        """Return whether no key of a result is stale, or may be because of a change that waits."""
        work = self._works.get(result)
        unknown = result.asks and (self._waiting or any(not question.again for question in self._asking))
        return work is not None and work.is_settled and not unknown

    async def run(self) -> None:
        """Follow changes and compute results until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            for work in self._works.values():
                work.task = self._tasks.create_task(work.run())
            self._tasks.create_task(self._ask_hard_questions())
            await self._ask_questions()

    @property
    def _asking_works(self) -> "_Works":
        return [work for work in self._works.values() if work.result.asks]

    @property
    def known_revision(self) -> int:
        """The last revision up to which OPA has said of every change what it concerns."""
        asking = min((question.revision for question in self._asking), default=self.revision + 1)
        waiting = self._waiting.first_revision
        return (asking if waiting is None else min(asking, waiting)) - 1

    async def _ask_questions(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (question := self._waiting.take()) is not None:
                self._asking.append(question)
                await self._process(question, self._ask_at_once)

    async def _ask_hard_questions(self) -> None:
        while True:
            question = await self._hard.get()
            if question in self._asking:
                await self._process(question, self._ask_in_halves)

    async def _process(self, question: Question, ask: Callable[[Question, "_Works"], Awaitable[None]]) -> None:
        """Ask OPA what changes concern, and let the results know; a question that cannot be answered waits again."""
        works, epoch = self._asking_works, self.epoch
        try:
            with tracing.span("compute statuses", links=question.change.traces):
                await ask(question, works)
        except (OpaUnavailable, OpaUndefined) as error:
            log.info("changes waiting for OPA", why=str(error))
            await asyncio.sleep(PAUSE)
            if self._end(question):
                self._waiting.put_back(question)
                self._wake.set()
        except Exception as error:  # noqa: BLE001 - it must not end the bridge: what can be isolated was
            wait = self._backoff.next()
            log.error("query of outdated values failed", why=_describe(error), retry_seconds=wait)
            await asyncio.sleep(wait)
            self._end(question)
            for work in works if epoch == self.epoch else ():
                work.start_over(self.known_revision)
        else:
            self._backoff.reset()
        self._progress.send()

    def _end(self, question: Question) -> bool:
        """End a question; return False if OPA was synced meanwhile."""
        with contextlib.suppress(ValueError):
            self._asking.remove(question)
            return True
        return False

    async def _ask_at_once(self, question: Question, works: "_Works") -> None:
        """Ask with everything that the results want; if that fails, the question is asked in halves."""
        change = question.change
        wanted = _wanted(question, works) if change.keys else {}
        for work in works if change.keys else ():
            wanted |= work.result.wants_besides(change)
        answer: Mapping[str, Any] = {}
        if wanted:
            keys = sorted(map(str, change.keys))
            try:
                answer = await self._opa.query("outdated", {"keys": keys, **_was(change), "wanted": wanted})
            except OpaError as error:
                if not await may_succeed_in_part(self._opa, error):
                    raise
                self._hard.put_nowait(question)
                return
            if self._opa.failures.errors:
                self._opa.failures.drop("outdated", keys)
        outdated = Outdated(change, answer, question.namespaces, tracing.current())
        if len(question.namespaces) > 1 and any(work.result.is_large(outdated) for work in works):
            if self._end(question):
                self._waiting.put_back(question, apart=True)
            return
        self._tell(question, works, outdated)

    async def _ask_in_halves(self, question: Question, works: "_Works") -> None:
        """Ask in parts for what the results need; ask again later about objects about which OPA takes too long."""
        change = question.change
        found: dict[str, Any] = {}
        slow: list[str] = []
        keys = sorted(map(str, change.keys))
        more = {**_was(change), "wanted": _wanted(question, works)}
        async for _, answer in parts(self._opa, "outdated", "keys", keys, more, too_slow=slow.append):
            _merge(found, answer)
        outdated = Outdated(change, found, question.namespaces, tracing.current())
        self._tell(question, works, outdated, [key for key in change.keys if str(key) in slow])

    def _tell(self, question: Question, works: "_Works", outdated: Outdated, slow: Sequence[Key] = ()) -> None:
        if not self._end(question):
            return
        revision = self.known_revision
        try:
            for work in works:
                if slow and not work.result.patient and not question.again:
                    work.start_over(revision)
                else:
                    work.hear(outdated, revision)
        except Exception:
            self._asking.append(question)  # until everything is stale
            raise
        for key in question.change.keys if self._timeouts else ():
            if key not in slow:
                del self._timeouts[key]  # a Counter has no error for a missing key
        for key in slow if any(work.result.patient for work in works) else ():
            self._timeouts[key] += 1
            delay = delay_after(FAILED, self._timeouts[key])
            asyncio.get_running_loop().call_later(delay, self._ask_again, question, key, self.epoch)

    def _ask_again(self, question: Question, key: Key, epoch: int) -> None:
        if epoch == self.epoch:
            again = question.about(key, self.revision + 1)
            self._asking.append(again)
            self._hard.put_nowait(again)


class _Work(Generic[K]):
    """Keeps the stale keys of one result, and computes them."""

    def __init__(self, result: Derived[K], revision: int, progress: "_Signal", *, may_work: bool) -> None:
        self.result = result
        self.task: asyncio.Task[None] | None = None
        self._stale: Turns[K] = Turns(result.owner_of)
        self._heard: list[Outdated] = []  # of which keys are not known yet
        self._everything = True  # all keys are stale
        self._upcoming: AsyncIterator[Iterable[K]] | None = None  # further keys, of which all are stale
        self._revision = revision  # of the newest change heard of
        self._may_work = may_work
        self._progress = progress
        self._was_settled = False
        self._due = math.inf  # the time at which everything is stale again
        self._until = math.inf  # the time at which there may be work
        self._wake = asyncio.Event()
        self._wake.set()

    @property
    def is_settled(self) -> bool:
        """Whether no key is stale."""
        return self._was_settled

    @property
    def is_renewing(self) -> bool:
        """Whether all keys are stale."""
        return self._everything

    def count_stale(self) -> int:
        """Return the number of stale keys."""
        return len(self._stale)

    def sync(self, revision: int, *, ended: bool) -> None:
        """Note that OPA is being synced again, or was."""
        self._may_work = ended
        self.start_over(revision)
        if not ended:
            self.result.distrust()

    def start_over(self, revision: int) -> None:
        """Note that all keys are stale."""
        self._everything, self._upcoming = True, None
        self._heard.clear()
        self._stir(revision)

    def hear(self, outdated: Outdated, revision: int) -> None:
        """Process changes, which were asked about before a later sync."""
        if self._may_work:  # otherwise everything is stale soon
            self.result.hear(outdated)
        self._heard.append(outdated)
        self._stir(revision)

    def add(self, keys: Iterable[K]) -> None:
        """Note that these keys are stale."""
        for key in keys:
            self._stale.add(key)
        self._stir(self._revision)

    def _stir(self, revision: int) -> None:
        self._revision = max(self._revision, revision)
        self._was_settled = False
        self._wake.set()

    async def run(self) -> None:
        """Compute until cancelled."""
        backoff = Backoff(FAILED)
        while True:
            await self._wait()
            try:
                while self._may_work and await self._do_next():
                    pass
            except (OpaUnavailable, OpaUndefined) as error:
                log.info("result waiting for OPA", result=self.result.name, why=str(error))
                await asyncio.sleep(PAUSE)
                self._wake.set()
            except Exception as error:  # noqa: BLE001 - it must not end the bridge: what can be isolated was
                wait = backoff.next()
                log.error("result failed", result=self.result.name, why=_describe(error), retry_seconds=wait)
                self.result.forget()
                await asyncio.sleep(wait)
                self.start_over(self._revision)
            else:
                if self._may_work:
                    backoff.reset()

    async def _wait(self) -> None:
        """Wait until there may be work."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(None if self._until == math.inf else self._until):
                await self._wake.wait()
        self._wake.clear()
        self._until = math.inf

    async def _do_next(self) -> bool:
        """Do one piece of work; return False if there is none now."""
        now = asyncio.get_running_loop().time()
        if self._everything:
            self._everything = False
            self._due = now + self.result.period
            self._stale.clear()
            self._upcoming = self.result.every()
        elif self._heard:
            await self._find_keys(self._heard[0])
        elif self._stale and (batches := [keys for keys in self.result.take(self._stale) if keys]):
            await self._compute(batches)
        elif self._upcoming is not None:
            await self._take_more(self._upcoming)
        elif self._stale:
            self._until = now + max(_TICK, min(map(self.result.rest, self._stale)))
            return False
        else:
            return self._settle(now)
        return True

    def _settle(self, now: float) -> bool:
        """Note that no key is stale; return whether everything is stale again."""
        if not self._was_settled:
            self._was_settled = True
            self.result.settle(self._revision)
            self._progress.send()
        self._until = self._due
        if now >= self._due:
            self.start_over(self._revision)
        return now >= self._due

    async def _find_keys(self, outdated: Outdated) -> None:
        keys = await self.result.keys_of(outdated)
        if not self._heard or self._heard[0] is not outdated:
            return  # everything is stale meanwhile
        del self._heard[0]
        if keys is None:
            self._everything = True
        for key in keys or ():
            self._stale.add(key, first=self.result.newest_first)

    async def _compute(self, batches: Iterable[Sequence[K]]) -> None:
        failed: OpaError | None = None
        for keys in batches:
            try:
                await self.result.compute(keys)
            except OpaError as error:
                failed = error
                for key in keys:
                    self._stale.add(key)
        if failed is not None:
            raise failed

    async def _take_more(self, upcoming: AsyncIterator[Iterable[K]]) -> None:
        try:
            keys = await anext(upcoming, None)
        except BaseException:
            if upcoming is self._upcoming:
                self._everything, self._upcoming = True, None
            raise
        if upcoming is not self._upcoming:
            return  # everything is stale meanwhile
        if keys is None:
            self._upcoming = None
        for key in keys or ():
            self._stale.add(key)


_Works = Sequence[_Work[Any]]


def _wanted(question: Question, works: _Works) -> dict[str, Any]:
    """Return the parts of the query `outdated` that the results need, each with its input."""
    wanted: dict[str, Any] = {}
    for work in works:
        wanted |= work.result.wants(question.change, question.since)
    return wanted


class _Signal:
    """Wakes everything that waits for it."""

    def __init__(self) -> None:
        self._sent = asyncio.Event()

    def send(self) -> None:
        """Wake what waits now."""
        self._sent.set()
        self._sent = asyncio.Event()

    async def wait(self) -> None:
        """Wait until it is sent."""
        await self._sent.wait()


def _merge(found: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add the parts about further objects: lists of keys, by name or below further names."""
    for name, value in more.items():
        if isinstance(value, Mapping):
            _merge(found.setdefault(name, {}), value)
        else:
            found[name] = list(dict.fromkeys((*found.get(name, ()), *value)))


def _was(change: Notice) -> Mapping[str, Any]:
    return {"was": {str(key): paths for key, paths in change.was.items()}}


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
