"""Tells of refusals where there is not an object to write on: a folder of manifests."""

from __future__ import annotations

from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.recording import Record
from bridge.modules import reports
from bridge.modules.authors import Authors


class Announcer:
    """Records what became of each author's object, when it is news."""

    def __init__(self, authors: Authors, record: Record) -> None:
        self._authors = authors
        self._record = record
        self._refused: dict[Key, reports.Told] = {}
        authors.listen(self._note)

    async def run(self) -> None:
        """There is nothing to do beside listening."""

    def _note(self, key: Key, obj: Object | None) -> None:
        author = self._authors.known.get(key)
        verdict = author.judgement if author else None
        if author is None or verdict is None:
            if obj is None:
                self._refused.pop(key, None)
            return
        told = reports.event(verdict, mended=key in self._refused)
        if told is None or told == self._refused.get(key):
            return
        if verdict.accepted:
            del self._refused[key]
        else:
            self._refused[key] = told
        self._record(author.identity, told.event_type, told.reason, told.message)
