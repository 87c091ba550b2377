"""A query for many items: in batches, and in halves if one item fails or takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, QueryError

Item = TypeVar("Item")
log = structlog.get_logger(__name__)
PART_LIMIT = 5.0  # seconds for a part of a query that took too long: OPA commits no write meanwhile
_OF_ITEMS = {"InvalidInput", "TooManyPaths"}  # codes of query errors that fewer items may avoid


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield the items in order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


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

    Rego has no catch: if evaluation fails or takes too long, an item is invalid, or the items are too many for one
    query, they are queried in halves. One that fails alone is logged, with its name from `name_of`, and omitted;
    `Opa.failures` has it until it succeeds. So is one that takes too long alone, after `too_slow` was called with it.
    `limit` are the seconds for one query, at most those of `opa`; after a timeout PART_LIMIT, if there is `too_slow`.
    Raises the other OpaErrors, and OpaTimeout if there is no `too_slow` or OPA does not answer other queries either.
    """
    waiting = [items]
    while waiting:
        part = waiting.pop(0)
        try:
            answer = await _query_within(limit, opa, query, {**more, name: shape(part)})
        except (OpaRejected, OpaTimeout, QueryError) as error:
            slow = isinstance(error, OpaTimeout)
            if not (await opa.ready() if slow else _is_of_an_item(error)):
                raise
            if slow and too_slow is not None:
                limit = min(limit or PART_LIMIT, PART_LIMIT)
            if len(part) > 1:
                half = len(part) // 2
                waiting[:0] = [part[:half], part[half:]]
            elif not slow:
                item = name_of(part[0])
                log.warning("query failed", query=query, key=item, why=str(error))
                opa.failures.add(query, item, error)
            elif too_slow is None:
                raise
            else:
                log.warning("query timed out", query=query, key=name_of(part[0]), why=str(error))
                too_slow(part[0])
        else:
            if opa.failures.errors:
                opa.failures.drop(query, map(name_of, part))
            yield part, answer


async def _query_within(limit: float | None, opa: Opa, query: str, query_input: Mapping[str, Any]) -> Any:
    try:
        async with asyncio.timeout(limit):
            return await opa.query(query, query_input)
    except TimeoutError as error:
        raise OpaTimeout(f"OPA gave no answer within {limit:g} s") from error


def _is_of_an_item(error: OpaError) -> bool:
    """Return whether other items may succeed."""
    return error.in_evaluation if isinstance(error, OpaRejected) else getattr(error, "code", "") in _OF_ITEMS
