"""What is told of objects that cannot be placed, or would be: once, in the log and where the object's owner looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import structlog

from bridge.model.placement import Mode
from bridge.model.recording import Record

log = structlog.get_logger(__name__)

DENIED = "PlacementDenied"  # the decision has errors
FAILED = "PlacementFailed"  # the decision cannot be used, or the API server does not take what it says
STOPPED = "PlacementStopped"  # patched again and again
DIFFERS = "PlacementDiffers"  # mode Report: what would be written


class Telling:
    """Remembers what was told of each object, so that nothing is told twice. `counts` are by reason.

    Events are recorded of objects in mode Write alone: Report leaves no trace in the cluster.
    """

    def __init__(self, record: Record) -> None:
        self.counts: Counter[str] = Counter()
        self._record = record
        self._told: dict[str, tuple[str, str]] = {}

    def __call__(self, mode: Mode, key: str, obj: Mapping[str, Any], reason: str, message: str) -> None:
        """Tell why an object is not as the decision wants it."""
        if self._told.get(key) == (reason, message):
            return
        self._told[key] = (reason, message)
        self.counts[reason] += 1
        if reason == DIFFERS:
            log.info("would be placed otherwise", object=key, annotations=message)
            return
        log.warning("not placed", object=key, reason=reason, why=message)
        if mode == "Write":
            self._record(obj, "Warning", reason, message)

    def fine(self, key: str, *, gone: bool = False) -> None:
        """Note that an object is as the decision wants it, or that there is none."""
        told = self._told.pop(key, None)
        if told and told[0] != DIFFERS and not gone:
            log.info("placed again", object=key, after=told[0])
