"""Work that waits: turns of owners, delays between attempts, permits per second, writes at once, sizes of batches.

Everything that queues uses these, so no tenant's work delays another's. Times are in seconds, by the loop's clock.
"""

import asyncio
import heapq
import itertools
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Generic, TypeVar

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_exponential_jitter
from tenacity.wait import wait_base

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Hashable)
Result = TypeVar("Result")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, Result]) -> AsyncIterator[asyncio.Task[Result]]:
    """Run work beside the block, as a task that is cancelled at the end of the block."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# How delays after failures in a row grow, by what failed: they double up to the longest.
# An OPA beside the bridge, which is back within seconds: an attempt costs it nothing.
RETURNING = wait_exponential(multiplier=0.05, max=1.0)
# Work that failed for a reason that may pass at once (a conflict) or stay (a missing right).
FAILED = wait_exponential(multiplier=0.1, max=30.0)
# A start or a sync of OPA that failed: the whole bridge waits for it.
STARTING = wait_exponential(multiplier=0.1, max=10.0)
# A query of one object that takes too long: OPA commits no write meanwhile.
TOO_SLOW = wait_exponential(multiplier=10.0, max=600.0)
PAUSE = 0.5  # until something is checked again that reports no change: the right to write, an OPA that is away
FILES = 2.0  # until files are looked at again whose change must count soon: tokens, the webhook's certificate
CREDENTIALS = 60.0  # until credentials are looked at again that may have been rotated: the former are still accepted
_NO_CALL = AsyncRetrying()


def delay_after(wait: wait_base, failures: int) -> float:
    """Return the delay by a strategy of tenacity after this number of failures in a row (at least 1).

    For work that is retried by its place in a queue: tenacity itself repeats a call until that succeeds.
    """
    state = RetryCallState(_NO_CALL, None, (), {})
    state.attempt_number = failures
    return float(wait(state))


class Backoff:
    """The delays after failures in a row, until `reset`, by a strategy of tenacity.

    For loops that never end, whose failures in a row are of different calls with successes between them. A call that is
    repeated until it succeeds is an AsyncRetrying with the same strategy.
    """

    def __init__(self, wait: wait_base) -> None:
        self._wait = wait
        self._failures = 0

    def reset(self) -> None:
        """Start with the first delay again after a success."""
        self._failures = 0

    def next(self) -> float:
        """Count a failure and return the delay after it."""
        self._failures += 1
        return delay_after(self._wait, self._failures)

    async def wait(self) -> None:
        """Count a failure and wait."""
        await asyncio.sleep(self.next())


def attempts_while_refused(what: str) -> AsyncRetrying:
    """Return attempts at work until the machine permits it: a process or file needs memory, space and descriptors.

    Call it with the function and its arguments. An OSError is logged once, with `what` could not be done.
    """

    def report(state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            log.warning("machine refuses work", what=what, why=str(state.outcome.exception()))

    return AsyncRetrying(
        retry=retry_if_exception_type(OSError),
        wait=wait_exponential_jitter(multiplier=FAILED.multiplier, max=FAILED.max, jitter=FAILED.multiplier),
        before_sleep=report,
        sleep=asyncio.sleep,
    )


class BatchSize:
    """The number of items of a query, at most `most`, for about `seconds` each: other queries wait that long."""

    def __init__(self, most: int, seconds: float = 0.2, first: int = 100) -> None:
        self._most = most
        self._seconds = seconds
        self.now = min(first, most)

    def take(self, waiting: deque[T]) -> list[T]:
        """Remove and return the items of the next query."""
        return [waiting.popleft() for _ in range(min(self.now, len(waiting)))]

    def learn(self, count: int, seconds: float) -> None:
        """Update it with the duration of a query of `count` items."""
        if seconds > self._seconds:
            self.now = max(1, min(self.now, int(count * self._seconds / seconds)))
        elif count >= self.now and seconds < self._seconds / 2:
            self.now = min(self._most, 2 * self.now)


class Budget:
    """At most `rate` permits a second over time, and `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._left = float(burst)
        self._since: float | None = None

    def change(self, rate: float) -> None:
        """Use another rate from now on."""
        self._rate = rate

    def permits_of(self, seconds: float) -> int:
        """Return the number of permits that so many seconds bring, at least 1."""
        return max(1, int(self._rate * seconds))

    def permits_within(self, seconds: float) -> int:
        """Return the number of permits within `seconds`, at least 1."""
        loop = asyncio.get_running_loop()
        since = loop.time() if self._since is None else self._since
        return max(1, int(min(self._burst, self._left + (loop.time() + seconds - since) * self._rate)))

    async def spend(self) -> None:
        """Take one permit; wait until there is one."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._since is not None:
            self._left = min(self._burst, self._left + (now - self._since) * self._rate)
        self._since = now
        self._left -= 1
        if self._left < 0:
            await asyncio.sleep(-self._left / self._rate)


class Turns(Generic[T]):
    """Waiting keys: `take` returns one of each owner in turn, and the oldest key of an owner."""

    def __init__(self, owner: Callable[[T], Hashable]) -> None:
        self._owner = owner
        self._waiting: OrderedDict[Hashable, OrderedDict[T, None]] = OrderedDict()  # by owner, the next one first
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: T) -> bool:
        return key in self._waiting.get(self._owner(key), ())

    def __iter__(self) -> Iterator[T]:
        return itertools.chain.from_iterable(self._waiting.values())

    def add(self, key: T, *, first: bool = False) -> None:
        """Add a key; a waiting one keeps its place. With `first` it is its owner's next one."""
        keys = self._waiting.setdefault(self._owner(key), OrderedDict())
        self._count += key not in keys
        keys[key] = None
        if first:
            keys.move_to_end(key, last=False)

    def discard(self, key: T) -> None:
        """Remove a key."""
        owner = self._owner(key)
        keys = self._waiting.get(owner)
        if keys is not None and key in keys:
            del keys[key]
            self._count -= 1
            if not keys:
                del self._waiting[owner]

    @property
    def owners(self) -> list[Hashable]:
        """The owners of keys, the next one first."""
        return list(self._waiting)

    def take_of(self, owner: Hashable, limit: int) -> list[T]:
        """Remove and return up to `limit` keys of one owner, whose turn it is after that of all others."""
        keys = self._waiting.pop(owner)
        taken = [keys.popitem(last=False)[0] for _ in range(min(limit, len(keys)))]
        self._count -= len(taken)
        if keys:
            self._waiting[owner] = keys
        return taken

    def take(self, limit: int, fits: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Remove and return up to `limit` keys that fit; an owner whose next key does not fit keeps its turn."""
        taken: list[T] = []
        passed: set[Hashable] = set()
        while len(taken) < limit and len(passed) < len(self._waiting):
            owner = next(owner for owner in self._waiting if owner not in passed)
            keys = self._waiting[owner]
            key = next(iter(keys))
            if not fits(key):
                passed.add(owner)
                continue
            keys.popitem(last=False)
            self._count -= 1
            taken.append(key)
            if keys:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
        return taken

    def clear(self) -> None:
        """Remove all keys."""
        self._waiting.clear()
        self._count = 0


class OwnersTurns:
    """At most `count` blocks at once. Waiting owners take turns, so many of one delay another by one turn."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._owners: dict[asyncio.Future[None], Hashable] = {}
        self._waiting: Turns[asyncio.Future[None]] = Turns(self._owners.__getitem__)

    @asynccontextmanager
    async def of(self, owner: Hashable) -> AsyncIterator[None]:
        """Wait for a turn of this owner; it ends with the block."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(owner)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, owner: Hashable) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owners[turn] = owner
        self._waiting.add(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting.discard(turn)
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise
        finally:
            del self._owners[turn]

    def _pass_on(self) -> None:
        while taken := self._waiting.take(1):
            if not taken[0].done():  # its client has not left
                taken[0].set_result(None)
                return
        self._free += 1


class RetryQueue(Generic[T]):
    """Waiting keys. Each `owner` takes turns, with its oldest due key first.

    An owner with many keys delays only its own. Without `owner` all keys have the same one.
    """

    def __init__(self, owner: Callable[[T], str] = lambda _: "") -> None:
        self._due: Turns[T] = Turns(owner)
        self._later: list[tuple[float, int, T]] = []
        self._ticket: dict[T, int] = {}  # of keys with a longer wait, the entry of `_later` that counts
        self._order = itertools.count()
        self._failures: dict[T, int] = {}
        self._added = asyncio.Event()
        self.results: Counter[str] = Counter()  # of work, as the worker reports them

    def __len__(self) -> int:
        return len(self._due) + len(self._ticket)

    def __contains__(self, key: T) -> bool:
        return key in self._due or key in self._ticket

    def add(self, keys: Iterable[T], *, first: bool = False) -> None:
        """Add keys for work as soon as possible; a waiting key stays once. With `first` each is its owner's next."""
        for key in keys:
            self._due.add(key, first=first)
            self._ticket.pop(key, None)
        if self._due:
            self._added.set()

    def discard(self, key: T) -> None:
        """Remove a key."""
        self._due.discard(key)
        self._ticket.pop(key, None)

    def failed(self, key: T) -> None:
        """Retry this key later, with growing delays, unless it was added meanwhile."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        self.add_later(key, delay_after(FAILED, count))

    def add_later(self, key: T, delay: float) -> None:
        """Add a key for work after a delay, unless it was added meanwhile."""
        if key in self._due:
            return
        ticket = self._ticket[key] = next(self._order)
        heapq.heappush(self._later, (asyncio.get_running_loop().time() + delay, ticket, key))
        self._added.set()

    def succeeded(self, key: T) -> None:
        """Reset the delay of this key."""
        self._failures.pop(key, None)

    def look_again(self) -> None:
        """Make a waiting `take` check again which keys fit."""
        self._added.set()

    async def take(self, limit: int, fits: Callable[[T], bool] = lambda _: True) -> list[T]:
        """Return up to `limit` keys that are due and fit; wait for the first."""
        while True:
            now = asyncio.get_running_loop().time()
            while self._later and self._later[0][0] <= now:
                _, ticket, key = heapq.heappop(self._later)
                if self._ticket.get(key) == ticket:
                    del self._ticket[key]
                    self._due.add(key, first=True)  # it has waited already
            if taken := self._due.take(limit, fits):
                return taken
            self._added.clear()
            wait = self._later[0][0] - now if self._later else None
            try:
                async with asyncio.timeout(wait):
                    await self._added.wait()
            except TimeoutError:
                continue


WRITERS = 32  # writes at once
WRITERS_EACH = 4  # of one owner
SLOW = 1.0  # seconds: an owner whose last write took longer has one write at once


class Writers(Generic[T]):
    """Bounds the parallel writes, in total and of each owner. A write waits from `begin` until both allow it.

    An API server can take seconds for a write, for example if a tenant's admission webhook delays it, or because the
    object has thousands of fields. Such an object costs the API server so much processor time that all clients wait.
    """

    def __init__(self, owner: Callable[[T], str]) -> None:
        self._owner = owner
        self._under_way: set[T] = set()
        self._counts: Counter[str] = Counter()  # of `_under_way`, by owner
        self._all = asyncio.Semaphore(WRITERS)
        self._each: dict[str, asyncio.Semaphore] = {}  # of owners with writes in progress
        self._slow: dict[str, asyncio.Lock] = {}  # of owners whose last write was slow

    def __len__(self) -> int:
        return len(self._under_way)

    def has_room_for(self, item: T) -> bool:
        """Return whether a write of this item could start now, considering its owner's other writes."""
        # No write is begun before it can be sent: a later and more urgent one would wait behind it.
        if item in self._under_way or len(self._under_way) >= WRITERS:
            return False
        owner = self._owner(item)
        if owner not in self._slow:
            return self._counts[owner] < WRITERS_EACH
        # One write of each, and all of them leave half of the writers to others.
        return not self._counts[owner] and sum(1 for other in self._counts if other in self._slow) < WRITERS // 2

    def begin(self, item: T) -> None:
        """Count a write as in progress; `writing` must follow."""
        owner = self._owner(item)
        self._under_way.add(item)
        self._counts[owner] += 1
        self._each.setdefault(owner, asyncio.Semaphore(WRITERS_EACH))

    @asynccontextmanager
    async def writing(self, item: T) -> AsyncIterator[None]:
        """Wait until the write may start; it ends with the context."""
        owner = self._owner(item)
        try:
            async with self._each[owner], self._slow.get(owner) or nullcontext(), self._all:
                began = asyncio.get_running_loop().time()
                yield
                if asyncio.get_running_loop().time() - began > SLOW:
                    self._slow.setdefault(owner, asyncio.Lock())
                else:
                    self._slow.pop(owner, None)
        finally:
            self._under_way.discard(item)
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner], self._each[owner]
