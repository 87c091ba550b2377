"""Objects with their links into OPA, each object as one transaction with its links, many of them in one write."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from bridge.model.changes import Object
from bridge.model.keys import Key, parse_key
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.replicator.claim import Claim, Lost
from bridge.replicator.documents import FACTS, INDEX, Documents, Facts, Index
from bridge.replicator.index_layout import NO_LINKS, Path
from bridge.replicator.links import Linking

log = structlog.get_logger(__name__)

MOST_OPERATIONS = 500  # a write: OPA's cost grows with their square, and everybody else waits meanwhile
FACTS_BATCH = 200  # objects whose facts are made in one query, so that a change waits for few
FACTS_AUDITED = 1_000  # objects whose facts one audit compares
MOST_BYTES = 32 << 20  # a write: OPA takes 256 MiB, and its memory peaks at several times the body


class Before(NamedTuple):
    """What OPA had of an object before a write: its essence (None: nothing) and its index paths."""

    essence: int | None
    paths: tuple[Path, ...]


class Writer:
    """Writes objects into one OPA, and knows what it holds. Methods wait and raise as those of `Claim`."""

    def __init__(self, opa: Opa, claim: Claim) -> None:
        self.documents = Documents()
        self.linking = Linking(opa)
        self._opa = opa
        self._claim = claim
        self._filled = False
        self._begun = False
        self._unaudited: list[Key] = []  # objects whose facts are to be compared next
        self._astray = False  # OPA's index is not what it should be: it is of no use

    def doubt_links(self) -> None:
        """Links that are written from now on may be made by other rules than those before: OPA's marker says so."""
        self._claim.doubt_rules()

    async def begin(self, rules: str = "", *, relink: bool = False) -> bool:
        """Begin with what OPA has, where that was made from the same: then True. Else the next write replaces it all.

        Another bridge that fills this OPA is waited for. Where links were made by other `rules`, or may have been
        (`relink`), each object that comes is written anew in its place.
        """
        found = await self._claim.take(rules)
        self.linking.begin()
        usable = found.usable and not self._astray
        self._filled = self._begun = False
        index: Index | None = await self._claim.ask(lambda: self._opa.get(INDEX)) if usable else None
        facts: Facts | None = await self._claim.ask(lambda: self._opa.get(FACTS)) if usable else None
        usable = index is not None and facts is not None  # else somebody has removed them
        if index is not None and facts is not None:
            held = await self.ask("resource_versions")
            linked = found.linked and not relink
            self.documents.adopt(held, index, facts, linked=linked)
            log.info("goes on with what OPA holds", objects=len(self.documents), linked=linked)
        else:
            self.documents.begin()
        self._astray = False
        return usable

    async def finish(self) -> None:
        """Mark what was written since `begin` as whole."""
        self._filled = True
        await self._send()
        self.linking.forget()
        self.documents.finish()

    async def probe(self) -> None:
        """Move the marker, which shows that OPA holds what was written, and others that somebody fills it."""
        if self._begun:
            await self._send()

    async def audit(self) -> bool:
        """Compare OPA's objects, the size of its index and some facts with what was written.

        Returns whether all was the same. Facts that differ are repaired; for other differences it raises Lost.
        """
        different = self.documents.differences(await self.ask("resource_versions"))
        for type_id, missing, foreign, other in different:
            log.error("OPA lacks what was written", type=type_id, missing=missing, foreign=foreign, other=other)
        linked, wanted = await self.ask("index_sizes"), self.documents.linked()
        astray_facts = await self._audit_facts()
        self._astray = any(linked.get(name, 0) != count for name, count in wanted.items())
        if self._astray:
            log.error("OPA's index is not what was written", has=linked, written=wanted)
        if different or self._astray:
            raise Lost("an audit found that OPA does not hold what was written: somebody else has changed it")
        return not astray_facts

    async def _audit_facts(self) -> bool:
        """Compare the facts of some objects, of others each time, with newly made ones; repair what differs.

        Returns whether some differed: somebody else has written there.
        """
        if not self._unaudited:
            self._unaudited = list(self.documents)
        keys = [key for key in self._unaudited[-FACTS_AUDITED:] if self.documents.version(key) is not None]
        del self._unaudited[-FACTS_AUDITED:]
        astray = False
        for batch in batches(keys, FACTS_BATCH):
            asked = {"keys": list(map(str, batch))}
            different = await self._claim.ask(functools.partial(self._opa.query, "stale_facts", asked))
            if different:
                astray = True
                log.error("facts in OPA are not those that were written: repaired", objects=different)
                made = await self._claim.ask(functools.partial(self.linking.of_stored, different))
                for key in map(parse_key, different):
                    self.documents.repair_facts(key, made.get(key, NO_LINKS).facts)
                await self._send()
        return astray

    async def ask(self, query: str) -> Any:
        """The answer to a query without input, from an OPA that holds what was written."""
        return await self._claim.ask(lambda: self._opa.query(query, {}))

    async def put_kinds(self, kinds: dict[str, Any]) -> None:
        """Store the policy kinds in force."""
        self.documents.put_kinds(kinds)
        await self._send()

    async def renew_facts(self) -> None:
        """Make the facts again that were made from something else than policy kinds and modules are now.

        The index entries of these objects may be others too: policy kinds name the fields by which policies select.
        """
        keys = self.documents.outdated(await self.ask("stamps"))
        for batch in batches(keys, FACTS_BATCH):
            made = await self._claim.ask(functools.partial(self.linking.of_stored, list(map(str, batch))))
            for key in batch:
                self.documents.put_links(key, made.get(key, NO_LINKS))
            await self._send()
        if keys:
            log.info("facts renewed", objects=len(keys))

    async def link_ahead(self, waiting: Mapping[Key, Object | None]) -> bool:
        """Make links of a batch of what waits to be written; False where there is no whole one, or no answer."""
        return await self.linking.ahead(waiting, self.documents.made_from, self.documents.has)

    async def write(self, batch: dict[Key, Object | None]) -> dict[Key, Before]:
        """Write what differs from what OPA holds; gives the objects that do, as they were.

        None stands for an object that is gone.
        """
        upserts: dict[Key, Object] = {}
        deletes: list[Key] = []
        for key, obj in batch.items():
            if obj is None:
                if self.documents.version(key) is not None:
                    deletes.append(key)
            elif self.documents.has(key, obj):
                self.documents.learn(key, obj)
            else:
                upserts[key] = obj
        self.linking.drop(batch.keys() - upserts.keys())
        made = await self._claim.ask(lambda: self.linking.of(upserts, self.documents.made_from))
        written: dict[Key, Before] = {}
        for key in (*deletes, *upserts):
            written[key] = Before(self.documents.essence(key), self.documents.index_paths(key))
        for key in deletes:
            self.documents.remove(key)
            await self._send_what_is_much()
        for key, obj in upserts.items():
            self.documents.put(key, obj, made[key].links, made[key].made_from)
            await self._send_what_is_much()
        if self.documents.planned or not self._begun:
            await self._send()
        return written

    async def _send_what_is_much(self) -> None:
        if self.documents.planned >= MOST_OPERATIONS or self.documents.planned_bytes >= MOST_BYTES:
            await self._send()

    async def _send(self) -> None:
        await self._claim.write(self.documents.take_plan(), filled=self._filled)
        self._begun = True
