"""A query over many items: in batches, and where one of them may spoil it, in halves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, QueryError

Item = TypeVar("Item")
log = structlog.get_logger(__name__)
_INVALID = "InvalidInput"  # the code of a query's error


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in their order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def in_parts(
    opa: Opa,
    query: str,
    name: str,
    items: Sequence[Item],
    more: Mapping[str, Any],
    told: Callable[[Item], str] = str,
) -> list[tuple[Sequence[Item], Any]]:
    """Ask a query with `items` as its input `name`; gives the items that were answered, with each answer.

    Rego has no catch: where evaluation fails, or an item is invalid, the items are asked in halves, and one that fails
    alone is reported, as `told` names it, and left out. Raises the other OpaErrors.
    """
    try:
        return [(items, await opa.query(query, {**more, name: items}))]
    except (OpaRejected, QueryError) as error:
        if not (error.in_evaluation if isinstance(error, OpaRejected) else error.code == _INVALID):
            raise
        if len(items) == 1:
            log.error("cannot be computed", query=query, key=told(items[0]), why=str(error))
            return []
        half = len(items) // 2
        return [
            *await in_parts(opa, query, name, items[:half], more, told),
            *await in_parts(opa, query, name, items[half:], more, told),
        ]
