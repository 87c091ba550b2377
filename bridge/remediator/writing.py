"""One write of the remediator, and what its queue learns of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import structlog

from bridge.model.keys import parse_key
from bridge.remediator.queue import RetryQueue
from bridge.remediator.sink import Conflict, Gone, StatusSink, WriteRefused

T = TypeVar("T", bound=Hashable)
RESULTS = ("written", "conflict", "gone", "refused")  # of a write, as they are counted in its queue's `results`

log = structlog.get_logger(__name__)


async def write_one(
    sink: StatusSink,
    queue: RetryQueue[T],
    item: T,
    planned: tuple[str, dict[str, Any], str],
    refused: Callable[[str, str], None] | None = None,
) -> bool:
    """Write a patch, and tell the queue of `item` whether it is to be tried again.

    `planned` is the object's key, the patch, and the resourceVersion that it was computed from; `refused` is called
    with the key and the reason of a write that the API server does not accept (else that is logged).

    Returns:
        Whether it was written. An object that is gone counts as done, but not as written.
    """
    key, patch, version = planned
    try:
        await sink.write(parse_key(key), patch, version)
    except Gone:
        queue.results["gone"] += 1
        queue.succeeded(item)
    except Conflict:
        queue.results["conflict"] += 1
        queue.failed(item)
    except WriteRefused as error:
        queue.results["refused"] += 1
        queue.failed(item)
        (refused or _log_refused)(key, str(error))
    else:
        queue.results["written"] += 1
        queue.succeeded(item)
        return True
    return False


def _log_refused(key: str, why: str) -> None:
    log.warning("status cannot be written", object=key, why=why)
