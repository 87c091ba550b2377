"""Queries about many items: in batches, and in halves where one item fails or takes too long.

Rego has no catch: one item at which evaluation fails hides the results of all others. `in_halves` is the only place
that divides a query; what happens to an item that fails alone is its caller's.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, QueryError

Item = TypeVar("Item")
Answered = TypeVar("Answered")
log = structlog.get_logger(__name__)
PART_LIMIT = 5.0  # seconds for a part of a query that took too long: OPA commits no write meanwhile
SKIP_MISSING = {"skipMissing": True}  # input of queries about items that were listed before, and may be deleted since
_OF_ITEMS = {"InvalidInput", "TooManyPaths"}  # codes of query errors that fewer items may avoid


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield the items in order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def in_halves(
    opa: Opa,
    groups: Iterable[Sequence[Item]],
    send: Callable[[Sequence[Item]], Awaitable[Answered]],
    *,
    limit: float | None = None,
    limit_after_timeout: float | None = None,
) -> AsyncIterator[tuple[Sequence[Item], Answered | OpaError]]:
    """Query with each group of items by `send`; divide a group whose query fails at some of its items.

    Yields groups with their answers, as they arrive, and each item that fails or takes too long alone with its error.
    `limit` are the seconds for one query; after a timeout at most `limit_after_timeout`. Raises the OpaErrors that
    other items would have too, also a timeout while OPA does not answer other queries.
    """
    waiting = list(groups)
    while waiting:
        group = waiting.pop(0)
        try:
            async with within(limit):
                answer = await send(group)
        except OpaError as error:
            if not await may_succeed_in_part(opa, error):
                raise
            if isinstance(error, OpaTimeout) and limit_after_timeout is not None:
                limit = min(limit or limit_after_timeout, limit_after_timeout)
            if len(group) > 1:
                half = len(group) // 2
                waiting[:0] = [group[:half], group[half:]]
            else:
                yield group, error
        else:
            yield group, answer


async def may_succeed_in_part(opa: Opa, error: OpaError) -> bool:
    """Return whether a part of the failed query may succeed: the cause is one of its items, or their number."""
    if isinstance(error, OpaTimeout):
        return await opa.is_ready()  # otherwise OPA does not answer other queries either
    if isinstance(error, OpaRejected):
        return error.in_evaluation
    return isinstance(error, QueryError) and error.code in _OF_ITEMS


def at_targets_of(kind: str) -> Callable[[str], str]:
    """Return the names of targets in failures of a query for this policy kind: it may succeed there for other kinds."""
    return f"{kind} at {{}}".format


async def in_parts(
    opa: Opa,
    query: str,
    name: str,
    items: Sequence[Item],
    more: Mapping[str, Any],
    name_of: Callable[[Item], str] = str,
    shape: Callable[[Sequence[Item]], Any] = list,
) -> list[tuple[Sequence[Item], Any]]:
    """Return the results of `parts`, with the items of each."""
    return [part async for part in parts(opa, query, name, items, more, name_of, shape=shape)]


async def parts(  # noqa: PLR0913 - independent options of one query
    opa: Opa,
    query: str,
    name: str,
    items: Sequence[Item],
    more: Mapping[str, Any],
    name_of: Callable[[Item], str] = str,
    too_slow: Callable[[Item], None] | None = None,
    shape: Callable[[Sequence[Item]], Any] = list,
    *,
    limit: float | None = None,
) -> AsyncIterator[tuple[Sequence[Item], Any]]:
    """Query with `items` as the input `name`, in the form of `shape`.

    Yields items with their result, as it arrives.

    One that fails alone is logged, with its name from `name_of`, and omitted; `Opa.failures` has it until it succeeds.
    So is one that takes too long alone, after `too_slow` was called with it. `limit` are the seconds for one query, at
    most those of `opa`; after a timeout PART_LIMIT, if there is `too_slow`. Raises the other OpaErrors, and OpaTimeout
    if there is no `too_slow` or OPA does not answer other queries either.
    """

    async def send(part: Sequence[Item]) -> Any:
        return await opa.query(query, {**more, name: shape(part)})

    later = PART_LIMIT if too_slow is not None else None
    async for part, answer in in_halves(opa, [items], send, limit=limit, limit_after_timeout=later):
        if not isinstance(answer, OpaError):
            if opa.failures.errors:
                opa.failures.drop(query, map(name_of, part))
            yield part, answer
        elif not isinstance(answer, OpaTimeout):
            item = name_of(part[0])
            log.warning("query failed", query=query, key=item, why=str(answer))
            opa.failures.add(query, item, answer)
        elif too_slow is None:
            raise answer
        else:
            log.warning("query timed out", query=query, key=name_of(part[0]), why=str(answer))
            too_slow(part[0])


@asynccontextmanager
async def within(limit: float | None) -> AsyncIterator[None]:
    """Raise OpaTimeout if the block takes longer than `limit` seconds; None is no limit."""
    try:
        async with asyncio.timeout(limit):
            yield
    except TimeoutError as error:
        raise OpaTimeout(f"OPA gave no answer within {limit:g} s") from error
