"""A query over many keys that one of them may spoil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected

log = structlog.get_logger(__name__)


async def in_parts(
    opa: Opa, query: str, name: str, keys: Sequence[str], more: Mapping[str, Any]
) -> list[tuple[Sequence[str], Any]]:
    """Ask a query with `keys` as its input `name`; gives the keys that were answered, with each answer.

    Rego has no catch: where evaluation fails, the keys are asked in halves, and one that fails alone is reported and
    left out. Raises the other OpaErrors.
    """
    try:
        return [(keys, await opa.query(query, {**more, name: keys}))]
    except OpaRejected as error:
        if not error.in_evaluation:
            raise
        if len(keys) == 1:
            log.error("cannot be computed", query=query, key=keys[0], why=str(error))
            return []
        half = len(keys) // 2
        return [
            *await in_parts(opa, query, name, keys[:half], more),
            *await in_parts(opa, query, name, keys[half:], more),
        ]
