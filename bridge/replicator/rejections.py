"""Objects that the source shows and OPA does not hold, because the bridge cannot take them: reported once each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

import structlog

from bridge.model.changes import Change, Deleted, Listed, Listing, Rejected, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.recording import Record, record_nothing

_TOGETHER = 0.5  # seconds: what is rejected shortly after each other is one line of the log
_NAMED = 10  # keys in a line

log = structlog.get_logger(__name__)


class Rejections(dict[Key, str]):
    """Follows a change stream: why an object is rejected, by key, as long as it is.

    `record` gets a warning for each object when it becomes rejected, or for another reason; the log gets it shortly
    after. `counts` are by type (`<group>/<Kind>`).
    """

    def __init__(self, record: Record = record_nothing) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._record = record
        self._unseen: dict[tuple[str, str], set[Key]] = {}  # of what is being listed, the rejected not shown again yet
        self._news: dict[Key, None] = {}
        self._reported: dict[Key, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def note(self, change: Change) -> None:
        """Take note of one change. To be called in a running event loop."""
        match change:
            case Rejected(_, key):
                self._begins(change)
                for unseen in self._unseen.values():
                    unseen.discard(key)
            case Upserted(type_id, objects) if self.counts[type_id]:
                self._end(map(key_of, objects))
            case Deleted(_, key):
                self._end([key])
            case Listing(type_id, namespace):
                self._unseen[type_id, namespace] = self._of(type_id, namespace)
            case Listed(type_id, namespace):
                self._end(self._unseen.pop((type_id, namespace), set()))
            case Trouble(type_id, absent=True):
                self._end(self._of(type_id, ""))
            case _:
                pass

    def report(self) -> None:
        """Write to the log now."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        news, self._news = self._news, {}
        reasons: dict[str, list[str]] = {}
        ended: list[str] = []
        for key in news:
            reason = self.get(key)
            if reason is None:
                ended += [str(key)] if self._reported.pop(key, None) else []
            elif self._reported.get(key) != reason:
                self._reported[key] = reason
                reasons.setdefault(reason, []).append(str(key))
        for reason, keys in reasons.items():
            log.warning("objects rejected", reason=reason, count=len(keys), keys=sorted(keys)[:_NAMED])
        if ended:
            log.info("objects no longer rejected", count=len(ended), keys=sorted(ended)[:_NAMED])

    def _of(self, type_id: str, namespace: str) -> set[Key]:
        return {key for key in self if key.type_id == type_id and namespace in {"", key.namespace}}

    def _begins(self, change: Rejected) -> None:
        if self.get(change.key) == change.reason:
            return
        self.counts[change.type_id] += change.key not in self
        self[change.key] = change.reason
        message = f"OPA does not hold this object, and no policy sees it: {change.reason}."
        self._record(change.identity, "Warning", "NotReplicated", message)
        self._report_later(change.key)

    def _end(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if self.pop(key, None) is not None:
                self.counts[key.type_id] -= 1
                self._report_later(key)

    def _report_later(self, key: Key) -> None:
        self._news[key] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self.report)
