"""Follows the objects with Rego and data (ConfigMaps, RegoPolicies) and submits them to the loader."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Source, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.model.nesting import parse_field
from bridge.policy_loader.compile_check import PASSING
from bridge.policy_loader.submissions import (
    CONFIG_MAP,
    LOST,
    REGO_POLICY,
    VERSIONS,
    DataPath,
    ModuleProblem,
    Reading,
    Submission,
    Verdict,
    finish,
    flaw,
    may_decide,
    move_system,
    package_of,
    read_config_map,
    read_in_force,
    read_loss,
    read_rego_policy,
    rejected,
)
from bridge.sources.yaml import UNREADABLE
from bridge.work import Turns

log = structlog.get_logger(__name__)


# The state of an object with Rego or data in OPA: its current version, an earlier version because the current one is
# rejected, none because of that, none because another author has taken it out, or unknown.
STATES = ("active", "last-good-version", "refused", "lost", "pending")


_PATIENCE = 4.0  # seconds that a start waits for documents whose reading takes long
_REMEMBERED = 8  # sets of documents: the webhook's, which change with Constraints
_LATE_CHECKS = 180.0  # seconds that a start waits for modules whose check takes long, or that change: four attempts


class SubmissionReceiver(Protocol):
    """The receiver of submissions: the loader, or what loads one set for a command."""

    def listen(self, listener: Callable[[Verdict], None]) -> None: ...  # noqa: D102
    def submit(self, submission: Submission) -> None: ...  # noqa: D102
    def remove(self, author: Key) -> None: ...  # noqa: D102
    def listed(self) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Author:
    """An object with Rego or data, as last seen.

    `identity` has its apiVersion, kind and metadata, and `status` its current status. `packages` are those of its
    modules, valid or not, and `obscure` the texts of modules without a plain one. `verdict` may be on a former version.
    """

    identity: Object
    status: dict[str, Any]
    version: str
    policy: bool
    packages: frozenset[DataPath] = frozenset()
    obscure: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def judgement(self) -> Verdict | None:
        """The verdict on the current version; None until it was checked."""
        return self.verdict if self.verdict and self.verdict.version == self.version else None

    @property
    def state(self) -> str:
        """Return its state: one of STATES."""
        found = self.judgement
        if found is None or (found.accepted and not found.programmed):
            return "pending"
        if found.accepted:
            return "active"
        if found.problems[0].code == LOST:
            return "lost"
        return "last-good-version" if found.active else "refused"

    @property
    def settled(self) -> bool:
        """Return whether a version is active or rejected, perhaps not the current one."""
        found = self.verdict
        return found is not None and (found.programmed or not found.accepted)

    @property
    def late(self) -> bool:
        """Return whether no version is active, and only because checks of the current one took too long."""
        found = self.judgement
        if found is None or found.accepted or found.active:
            return False
        return all(problem.code in PASSING for problem in found.problems)


class Authors:
    """Submits the objects of a source, in `namespaces` (of ConfigMaps; `*` for all).

    `rego_version` is that of a ConfigMap's modules if no label states it.

    Give it changes of `types` by `take_in`, or let it `follow` a source. `listen` reports objects to check: they, or
    their verdicts, have changed.
    """

    def __init__(
        self, loader: SubmissionReceiver, namespaces: Collection[str], rego_version: str = VERSIONS[1]
    ) -> None:
        self.known: dict[Key, Author] = {}
        self.types = frozenset({CONFIG_MAP, REGO_POLICY} if namespaces else {REGO_POLICY})
        self._loader = loader
        self._namespaces = namespaces
        self._rego_version = rego_version
        self._listeners: list[Callable[[Key, Object | None], None]] = []
        self._unseen: dict[tuple[str, str], set[Key]] = {}  # objects of a current listing that were not delivered yet
        self._forbidden: set[str] = set()  # types of `unlisted` for which the others do not wait
        # Types whose initial list is incomplete, with the reason.
        self.unlisted: dict[str, str] = dict.fromkeys(self.types, "the initial list is incomplete")
        self._unsettled = True
        self._late_since = 0.0  # by the monotonic clock
        self._created: set[Key] = set()  # objects that did not exist at the start
        self._changed: set[Key] = set()  # those of which the start's version may never be checked
        self._unread: dict[Key, Reading] = {}  # by author, while its documents are not read
        self._turns = Turns[Key](lambda key: key.namespace)
        self._arrived = asyncio.Event()
        self._deciding: dict[frozenset[DataPath], list[Key]] = {}  # results, for every request to the webhook
        self._listing = True  # until the loader is notified that everything was listed
        loader.listen(self._judge)

    @property
    def policies_exist(self) -> bool:
        """Return whether an object with policies exists, valid or not. Until the initial lists are complete: True."""
        return bool(self.unlisted) or any(author.policy for author in self.known.values())

    def deciding(self, documents: Collection[DataPath]) -> list[Key]:
        """Return the objects with policies, valid or not, that may define one of these documents."""
        asked = frozenset(documents)
        if asked not in self._deciding:
            if len(self._deciding) >= _REMEMBERED:
                self._deciding.clear()
            self._deciding[asked] = [
                key
                for key, author in self.known.items()
                if author.policy and may_decide(author.packages, author.obscure, asked)
            ]
        return self._deciding[asked]

    @property
    def unready(self) -> str:
        """Return why the modules from the start are neither active nor rejected yet; "" once they are."""
        if self._unsettled:
            if self.unlisted:
                return "; ".join(f"{type_id}: {why}" for type_id, why in sorted(self.unlisted.items()))
            initial = {str(key): author for key, author in self.known.items() if key not in self._created}
            waiting = [key for key, author in initial.items() if not author.settled]
            if {*waiting}.difference(map(str, self._changed)):
                return f"{_first_of(waiting)}: neither active nor rejected yet"
            late = [key for key, author in initial.items() if author.late]
            if late or waiting:
                self._late_since = self._late_since or time.monotonic()
                if time.monotonic() - self._late_since < _LATE_CHECKS:
                    slow = f"{_first_of(late)}: the check takes long, and no version is active" if late else ""
                    return slow or f"{_first_of(waiting)}: changed since the start, and not checked yet"
            self._unsettled = False
        return ""

    def listen(self, listener: Callable[[Key, Object | None], None]) -> None:
        """Call `listener` with the key of each author that has changed, or that has another verdict.

        For an object that is no longer an author it gets the rest of it, and None for a deleted one.
        """
        self._listeners.append(listener)

    async def follow(self, source: Source) -> None:
        """Follow a separate source until cancelled."""
        source.want(self.types)
        async for change in source.changes():
            self.take_in(change)
            await asyncio.sleep(0)  # a long listing must not block other tasks

    async def run(self) -> None:
        """Read the documents whose reading may cost much, until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self.read_waiting()

    async def read_waiting(self) -> None:
        """Read these documents, of one object at a time and of each namespace in turn."""
        while self._turns:
            [key] = self._turns.take(1)
            reading = self._unread[key]
            finished = await self._finish(key, reading)
            if self._unread.get(key) is not reading:
                continue  # it has changed meanwhile
            del self._unread[key]
            self._loader.submit(finished.submission)
            if not self._unread:
                self._report_listed()

    def take_in(self, change: Change) -> None:
        """Process one change of a source; changes of other types may be included.

        Documents that need a process of their own wait for `run`, or `read_waiting`.
        """
        match change:
            case Listing(type_id, namespace) if type_id in self.types:
                self._expect_listing(type_id, namespace)
            case Upserted(type_id, objects) if type_id in self.types:
                for obj in objects:
                    self._take(key_of(obj), obj)
            case Deleted(type_id, key) if type_id in self.types:
                self._drop(key, None)
            case Listed(type_id, namespace) if type_id in self.types:
                for key in self._unseen.pop((type_id, namespace), set()):
                    self._drop(key, None)
                if not namespace:
                    self._is_listed(type_id)
            case Trouble(type_id) if type_id in self.types:
                self._has_trouble(change)
            case Rejected(_, key):
                self._see(key)  # its previous version stays loaded

    def _expect_listing(self, type_id: str, namespace: str) -> None:
        known = {key for key in self.known if key.type_id == type_id and namespace in {"", key.namespace}}
        self._unseen[type_id, namespace] = known

    def _see(self, key: Key) -> None:
        for unseen in self._unseen.values():
            unseen.discard(key)

    def _take(self, key: Key, obj: Object) -> None:
        self._see(key)
        reading = self._read(key, obj)
        if reading is None:
            self._drop(key, obj)
            return
        identity = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
        status = parse_field(obj.get("status"))
        before = self.known.get(key)
        same = before is not None and before.version == reading.submission.version
        if self._unsettled and not (self.unlisted or same):
            (self._changed if before else self._created).add(key)
        if not reading.unread:
            self._forget(key)
        elif not same:  # otherwise it was read, or waits
            self._unread[key] = reading
            self._turns.add(key)
            self._arrived.set()
        texts = {text: package_of(move_system(text)) for text in _texts_of(obj)} if reading.policy else {}
        self._deciding.clear()
        self.known[key] = Author(
            identity,
            status if isinstance(status, dict) else {},
            reading.submission.version,
            reading.policy,
            frozenset(filter(None, texts.values())),
            tuple(text for text, package in texts.items() if not package),
            before.verdict if before else None,
        )
        if not reading.unread and not (same and reading.submission.version):
            self._loader.submit(replace(reading.submission, lost=read_loss(obj), in_force=read_in_force(obj)))
        self._notify(key, obj)

    def _read(self, key: Key, obj: Object) -> Reading | None:
        try:
            if key.type_id == REGO_POLICY:
                return read_rego_policy(key, obj)
            return read_config_map(key, obj, self._namespaces, self._rego_version)
        except Exception as error:  # noqa: BLE001 - whatever one author wrote, the objects of the others are read
            return Reading(Submission(key, "", problems=(_report_unreadable(key, error),)), key.type_id == REGO_POLICY)

    async def _finish(self, key: Key, reading: Reading) -> Reading:
        try:
            return await finish(reading)
        except Exception as error:  # noqa: BLE001 - the same
            return rejected(reading, _report_unreadable(key, error))

    def _forget(self, key: Key) -> None:
        self._turns.discard(key)
        if self._unread.pop(key, None) is not None and not self._unread:
            self._report_listed()

    def _drop(self, key: Key, obj: Object | None) -> None:
        self._forget(key)
        if self.known.pop(key, None) is not None:
            self._deciding.clear()
            self._loader.remove(key)
        self._notify(key, obj)

    def _is_listed(self, type_id: str) -> None:
        if self.unlisted.pop(type_id, None) is not None:
            self._forbidden.discard(type_id)
            self._continue_when_listed()

    def _continue_when_listed(self) -> None:
        if self.unlisted.keys() - self._forbidden:
            return
        if self._unread:
            asyncio.get_running_loop().call_later(_PATIENCE, self._report_listed)
        else:
            self._report_listed()

    def _report_listed(self) -> None:
        if self._listing and not self.unlisted.keys() - self._forbidden:
            self._listing = False
            self._loader.listed()

    def _has_trouble(self, trouble: Trouble) -> None:
        type_id = trouble.subject
        for place in [place for place in self._unseen if place[0] == type_id]:
            del self._unseen[place]  # the list was interrupted
        if trouble.absent:
            self._is_listed(type_id)
            return
        if type_id in self.unlisted:
            self.unlisted[type_id] = trouble.message
            if trouble.forbidden and not trouble.namespaces:
                self._forbidden.add(type_id)
                self._continue_when_listed()
        log.warning("policy submissions unavailable", type=type_id, why=trouble.message)

    def _judge(self, verdict: Verdict) -> None:
        author = self.known.get(verdict.author)
        if author is not None:
            self.known[verdict.author] = replace(author, verdict=verdict)
            self._notify(verdict.author, author.identity)

    def _notify(self, key: Key, obj: Object | None) -> None:
        for listener in self._listeners:
            listener(key, obj)


def _texts_of(obj: Object) -> Iterator[str]:
    """Yield the texts of an object that may be Rego: of a ConfigMap's data, of a RegoPolicy's modules."""
    spec = parse_field(obj.get("spec"))
    for part in (parse_field(obj.get("data")), spec.get("modules") if isinstance(spec, dict) else None):
        yield from (text for text in part.values() if isinstance(text, str)) if isinstance(part, dict) else ()


def _report_unreadable(key: Key, error: Exception) -> ModuleProblem:
    log.error("object not readable", object=str(key), exc_info=error)
    return flaw(f"{UNREADABLE} ({type(error).__name__}): simplify it", code="unreadable")


def _first_of(names: Collection[str]) -> str:
    return min(names) + (f" and {len(names) - 1} more" if len(names) > 1 else "")
