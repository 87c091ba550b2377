"""What the OPAs of other replicas refuse: each replica records that in Events, and the holder of the Lease reads them.

A replica may not write into objects. The Event about an object that the holder reports as active is repeated while the
replica's OPA refuses it, and another one ends it. The Events of a replica that is gone count for `FORGOTTEN` seconds.
Other clients may write such Events, too: what they say is only shown, bounded, and decides nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

import msgspec
import structlog

from bridge.kube.kube_errors import Forbidden, KubeError
from bridge.kube.lease import FencedClient
from bridge.kube.recording import list_events, read_time
from bridge.model.keys import Key
from bridge.model.observability import Record
from bridge.policy_loader.authors import Author, Authors
from bridge.policy_loader.submissions import CONFIG_MAP, STATUS_ANNOTATION, ModuleProblem

log = structlog.get_logger(__name__)

REFUSED, RECOVERED = "PolicyRefusedByReplica", "PolicyInForceInReplica"  # reasons of Events
READ = 60.0  # seconds until the holder reads Events again
REPEAT = 300.0  # seconds until a replica repeats one; within ten minutes the recorder counts both as one
FORGOTTEN = 2 * REPEAT + READ
MOST_REFUSING = 10  # replicas that a status names
_MOST = "500"  # Events of one namespace and reason that are read
_SKEW = timedelta(seconds=60)  # between the clocks of replicas


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Series(msgspec.Struct, rename="camel"):
    last_observed_time: str | None = None


class _Event(msgspec.Struct, rename="camel"):
    involved_object: _Subject = _Subject()
    event_time: str | None = None
    series: _Series | None = None
    reporting_instance: str = ""

    @property
    def last(self) -> datetime:
        """Return the time of the last report."""
        times = [read_time(self.event_time), read_time(self.series.last_observed_time if self.series else None)]
        return max((at for at in times if at), default=datetime.fromtimestamp(0, UTC))


class Replicas:
    """Records what this replica's OPA refuses, or, in the holder of the Lease, knows the replicas that refuse objects.

    `changed` is called with an object for which `refusing` returns others from now on.
    """

    def __init__(self, authors: Authors, client: FencedClient, record: Record, changed: Callable[[Key], None]) -> None:
        self._authors = authors
        self._client = client
        self._record = record
        self._changed = changed
        self._here: dict[Key, tuple[tuple[ModuleProblem, ...], str, float]] = {}  # problems, message, and when recorded
        self._elsewhere: Mapping[Key, list[str]] = {}
        self._forbidden = False

    def refusing(self, key: Key) -> list[str]:
        """Return the names of the replicas whose OPA refuses an object."""
        return self._elsewhere.get(key, [])[:MOST_REFUSING] if self._client.may_write() else []

    def record_verdict(self, key: Key, author: Author | None, message: str) -> None:
        """Record the newest verdict on an object, with a rejection's message, or that the object is gone."""
        verdict = author.judgement if author else None
        if author is None or verdict is None:
            self._here.pop(key, None)
        elif verdict.programmed:
            if self._here.pop(key, None):
                text = f"The OPA of the bridge {socket.gethostname()} has this version"
                self._record(author.identity, "Normal", RECOVERED, text)
        elif verdict.accepted:
            pass  # OPA has not loaded it yet
        elif self._client.may_write() or not _is_reported_active(key, author):
            self._here.pop(key, None)  # the object's status reports it
        elif self._here.get(key, ((), "", 0.0))[0] != verdict.problems:
            self._report(key, author, verdict.problems, message)

    def _report(self, key: Key, author: Author, problems: tuple[ModuleProblem, ...], message: str) -> None:
        self._here[key] = (problems, message, asyncio.get_running_loop().time())
        text = f"The OPA of the bridge {socket.gethostname()} does not have this version: {message}"
        self._record(author.identity, "Warning", REFUSED, text)

    async def run(self) -> None:
        """Repeat what this replica records, or read what others do, until cancelled."""
        while True:
            if self._client.may_write():
                await self._read()
            else:
                self._repeat()
            await asyncio.sleep(READ)

    def _repeat(self) -> None:
        now = asyncio.get_running_loop().time()
        for key, (problems, message, when) in [*self._here.items()]:
            if when + REPEAT <= now and (author := self._authors.known.get(key)):
                self._report(key, author, problems, message)

    async def _read(self) -> None:
        found: dict[Key, list[str]] = {}
        try:
            for namespace in {key.namespace for key in self._authors.known}:
                for key, name in await self._find_refusals(namespace):
                    found.setdefault(key, []).append(name)
        except KubeError as error:
            if isinstance(error, Forbidden) and not self._forbidden:
                self._forbidden = True
                log.warning("cannot read Events of other replicas, list permission missing", why=error.message)
            return
        self._forbidden, before, self._elsewhere = False, self._elsewhere, found
        for key in {*before, *found}:
            if before.get(key) != found.get(key):
                self._changed(key)

    async def _find_refusals(self, namespace: str) -> Iterable[tuple[Key, str]]:
        """Return the objects of a namespace that replicas refuse, each with a replica's name."""
        subjects = {
            (key.kind, key.name, author.identity["metadata"].get("uid", "")): key
            for key, author in self._authors.known.items()
            if key.namespace == namespace
        }
        states: dict[tuple[Key, str], tuple[datetime, bool]] = {}
        latest = datetime.now(UTC) + _SKEW  # what is later would count for longer than FORGOTTEN
        for reason in (REFUSED, RECOVERED):
            found = await list_events(self._client, namespace, f"reason={reason}", _MOST)
            for event in msgspec.convert(found, list[_Event]):
                subject = event.involved_object
                key = subjects.get((subject.kind, subject.name, subject.uid))
                if key and event.last <= latest:
                    replica = (key, event.reporting_instance.rpartition("-")[0])  # see `Recorder`
                    states[replica] = max(states.get(replica, (event.last, False)), (event.last, reason == REFUSED))
        now = datetime.now(UTC)
        return sorted(
            replica
            for replica, (last, refused) in states.items()
            if refused and (now - last).total_seconds() < FORGOTTEN
        )


def _is_reported_active(key: Key, author: Author) -> bool:
    """Return whether an object's annotation or status states that OPA has its version."""
    if key.type_id == CONFIG_MAP:
        reported = str((author.identity["metadata"].get("annotations") or {}).get(STATUS_ANNOTATION, ""))
        return '"status":"ok"' in reported
    conditions = {one.get("type"): one.get("status") for one in author.status.get("conditions") or ()}
    return conditions.get("Programmed") == "True"
