"""Writes objects into OPA, each object in one transaction with its links, many of them in one write."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import structlog

from bridge.model.changes import Object
from bridge.model.keys import Key, parse_key
from bridge.model.types import DESCRIBING
from bridge.opa.batches import batches
from bridge.opa.client import Opa
from bridge.replicator.documents import FACTS, INDEX, NO_LINKS, Documents, Facts, Index, Path
from bridge.replicator.guard import Claim, ContentRefused, Lost
from bridge.replicator.links import Linking

log = structlog.get_logger(__name__)

MOST_OPERATIONS = 500  # of a write: OPA's cost grows with their square, and other clients wait meanwhile
FACTS_BATCH = 200  # objects whose facts are computed in one query, so a change waits for few
FACTS_AUDITED = 1_000  # objects whose facts one audit compares
MOST_BYTES = 32 << 20  # of a write: OPA accepts 256 MiB, and its memory peaks at several times the body


class Before(NamedTuple):
    """OPA's state of an object before a write: its essence (None: none) and its index paths."""

    essence: int | None
    paths: tuple[Path, ...]


class Writer:
    """Writes objects into one OPA, and knows its contents. Methods wait and raise like those of `Claim`.

    `refuse` is called with each object that OPA cannot store (None: or remove), and why; the others are written.
    `retry` is called with a refused object that OPA may be able to store now.
    """

    def __init__(
        self,
        opa: Opa,
        claim: Claim,
        refuse: Callable[[Key, Object | None, str], None],
        retry: Callable[[Key, Object], None],
    ) -> None:
        self.documents = Documents()
        self.linking = Linking(opa, self.documents, retry)
        self._opa = opa
        self._claim = claim
        self.kinds_outdated = True  # whether OPA has other CRDs or PolicyKinds than its policy kinds were made from
        self._filled = False
        self._begun = False
        self._replacing = False  # whether the first write replaces all data
        self._refuse = refuse
        self._suspects: set[Key] = set()  # objects of a write for which OPA lacked data, until a sync ends
        self._unaudited: list[Key] = []  # objects whose facts are compared next
        self._astray = False  # OPA's index is wrong and cannot be reused

    def doubt_links(self) -> None:
        """Note in OPA's marker that links from now on may be made by other rules than earlier ones."""
        self._claim.doubt_rules()

    @property
    def links_doubtful(self) -> bool:
        """Return whether links since `begin` may be made by other rules."""
        return self._claim.rules_doubtful

    async def begin(self, rules: str = "") -> bool:
        """Reuse OPA's data, if it has the same origin: then True. Otherwise the next write replaces all of it.

        Waits for another bridge that writes to this OPA. If other `rules` made the links, or may have, each arriving
        object is written again.
        """
        found = await self._claim.take(rules)
        self.linking.begin()
        self.kinds_outdated = True
        usable = found.usable and not self._astray
        self._filled = self._begun = False
        index: Index | None = await self._claim.ask(lambda: self._opa.get(INDEX)) if usable else None
        facts: Facts | None = await self._claim.ask(lambda: self._opa.get(FACTS)) if usable else None
        usable = index is not None and facts is not None  # otherwise another client has removed them
        if index is not None and facts is not None:
            held = await self.ask("resource_versions")
            self.documents.adopt(held, index, facts, linked=found.linked)
            log.info("existing data in OPA reused", objects=len(self.documents), linked=found.linked)
        else:
            self.documents.begin()
        self._replacing = not usable
        if usable and self.documents.planned:
            await self._send()  # the removal of entries that no object has, apart from writes that OPA may refuse
        self._astray = False
        return usable

    async def finish(self) -> None:
        """Mark everything since `begin` as complete."""
        self._filled = True
        await self._send()
        self._suspects.clear()
        self.linking.forget()
        self.documents.finish()

    async def probe(self) -> None:
        """Advance the marker, which verifies OPA's data, and shows other bridges that this one is running."""
        if self._begun:
            await self._send()

    async def audit(self) -> bool:
        """Compare OPA's objects, the size of its index and some facts with the written ones.

        Returns whether all are equal. Different facts are repaired; for other differences it raises Lost.
        """
        different = self.documents.differences(await self.ask("resource_versions"))
        for type_id, missing, foreign, other in different:
            log.error("objects in OPA differ", type=type_id, missing=missing, foreign=foreign, other=other)
        linked, wanted = await self.ask("index_sizes"), self.documents.linked()
        astray_facts = await self._audit_facts()
        self._astray = any(linked.get(name, 0) != count for name, count in wanted.items())
        if self._astray:
            log.error("index in OPA differs", in_opa=linked, expected=wanted)
        if different or self._astray:
            raise Lost("an audit found that data in OPA differs: another client has written to it")
        return not astray_facts

    async def _audit_facts(self) -> bool:
        """Compare the facts of some objects, different ones each time, with computed ones; repair differences.

        Returns whether some differed: another client has changed them.
        """
        if not self._unaudited:
            self._unaudited = list(self.documents)
        keys = [key for key in self._unaudited[-FACTS_AUDITED:] if self.documents.version(key) is not None]
        del self._unaudited[-FACTS_AUDITED:]
        astray = False
        for batch in batches(keys, FACTS_BATCH):
            query_input = {"keys": list(map(str, batch))}
            different = await self._claim.ask(functools.partial(self._opa.query, "stale_facts", query_input))
            if different:
                astray = True
                log.error("stale facts in OPA repaired", objects=different)
                made = await self._claim.ask(functools.partial(self.linking.of_stored, different))
                for key in map(parse_key, different):
                    self.documents.repair_facts(key, made.get(key, NO_LINKS).facts)
                await self._send()
        return astray

    async def ask(self, query: str) -> Any:
        """Return the result of a query without input, from an OPA with the written data."""
        return await self._claim.ask(lambda: self._opa.query(query, {}))

    async def put_kinds(self, documents: dict[str, Any]) -> None:
        """Store the documents of the active policy kinds, by name, as OPA computes them from the written objects."""
        self.documents.put_kinds(documents)
        await self._send()
        self.kinds_outdated = False
        self.linking.begin()  # a kind names fields by which its policies select, and links read these

    async def renew_facts(self) -> None:
        """Compute the facts again whose inputs, policy kinds and modules, have changed.

        The index entries of these objects may differ too: policy kinds name the fields by which policies select.
        """
        keys = self.documents.outdated(await self.ask("stamps"))
        for batch in batches(keys, FACTS_BATCH):
            made = await self._claim.ask(functools.partial(self.linking.of_stored, list(map(str, batch))))
            for key in batch:
                self.documents.put_links(key, made.get(key, NO_LINKS))
            await self._send()
        if keys:
            log.info("facts refreshed", objects=len(keys))

    async def write(self, batch: dict[Key, Object | None]) -> dict[Key, Before]:
        """Write differences to OPA; return the changed objects, in their previous state.

        None means a deleted object.
        """
        deletes = [key for key, obj in batch.items() if obj is None and self.documents.version(key) is not None]
        upserts: dict[Key, Object] = {}
        for key, obj in batch.items():
            if obj is not None and self.documents.has(key, obj):
                self.documents.learn(key, obj)
            elif obj is not None:
                upserts[key] = obj
        self.linking.drop(batch.keys() - upserts.keys())
        made = await self._claim.ask(lambda: self.linking.of(upserts))
        # Other queries about an object may fail, too, if its links do.
        for key, why in [(key, one.failure) for key, one in made.items() if one.failure]:
            self._refuse(key, upserts.pop(key), f"evaluation fails on it ({why})")
            if self.documents.version(key) is not None:
                deletes.append(key)
        written: dict[Key, Before] = {}
        for key in (*deletes, *upserts):
            written[key] = Before(self.documents.essence(key), self.documents.index_paths(key))

        def plan(key: Key) -> None:
            if key in upserts:
                self.documents.put(key, upserts[key], made[key].links, made[key].made_from)
            else:
                self.documents.remove(key)

        for key in await self._write_or_refuse(deletes, upserts, plan):
            del written[key]
        self.kinds_outdated |= any(
            key.type_id in DESCRIBING and before.essence != self.documents.essence(key)
            for key, before in written.items()
        )
        return written

    async def _write_or_refuse(
        self, deletes: Sequence[Key], upserts: Mapping[Key, Object], plan: Callable[[Key], None]
    ) -> list[Key]:
        """Write each object; return those that OPA has as before."""
        refused = await self._write_each([*deletes, *upserts], plan)
        # Policies must not be evaluated with a former state of an object.
        former = [key for key in refused if key in upserts and self.documents.version(key) is not None]
        kept = await self._write_each(former, self.documents.remove) if former else {}
        for key, why in refused.items():
            self._refuse(key, upserts.get(key), f"OPA refuses it ({why})")
        return [key for key in refused if key not in former or key in kept]

    async def _write_each(self, keys: Sequence[Key], plan: Callable[[Key], None]) -> dict[Key, str]:
        """Plan the write of each object, and send the plans together, in parts if they are large.

        Returns the objects that OPA refuses, with the reasons. A refused write is repeated in halves, so one object
        never stops the others. Raises Lost if OPA refuses a write without objects, too, or lacks data, once a sync: the
        cause is another client then.
        """
        refused: dict[Key, str] = {}
        parts: list[Sequence[Key]] = [keys]
        while parts:
            part = parts.pop()
            count = 0
            for key in part:
                plan(key)
                count += 1
                if self.documents.planned >= MOST_OPERATIONS or self.documents.planned_bytes >= MOST_BYTES:
                    break
            if count < len(part):
                parts.append(part[count:])
            sent = part[:count]
            try:
                if self.documents.planned or not self._begun:
                    await self._send()
            except ContentRefused as error:
                if error.reason == "changed" and self._suspects.isdisjoint(sent):
                    self._suspects.update(sent)
                    raise
                await self._take_back()
                if count <= 1:
                    refused |= dict.fromkeys(sent, str(error.__cause__))
                else:
                    parts += [sent[count // 2 :], sent[: count // 2]]
        return refused

    async def _take_back(self) -> None:
        """Undo the refused plan, and verify that OPA accepts a write without it."""
        if self._replacing and not self._begun:
            self.documents.begin()
        else:
            self.documents.undo()
        await self._send()

    async def _send(self) -> None:
        await self._claim.write(self.documents.take_plan(), filled=self._filled)
        self.documents.confirm()
        self._begun = True
