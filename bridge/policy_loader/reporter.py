"""Reports to authors: an annotation on a ConfigMap, a RegoPolicy's status, and one Event.

The annotation has the form of kube-mgmt's `openpolicyagent.org/kube-mgmt-status`, under a separate key.

For a folder of manifests, whose files are never written, rejections are logged.

A replica without the Lease may not write into objects: what its OPA refuses is in Events, which the holder of the Lease
reads. The Event about an object that the holder reports as active is repeated while the replica's OPA refuses it, and
another one ends it. The Events of a replica that is gone count for `FORGOTTEN` seconds. Other clients may write such
Events, too: what they say is only shown, bounded, and decides nothing.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
import structlog

from bridge.kube.kube_client import patch_object
from bridge.kube.kube_errors import Conflict, Forbidden, KubeError, NotFound
from bridge.kube.lease import FencedClient
from bridge.kube.recording import list_events, read_time
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.observability import EventType, Record
from bridge.model.types import ResourceType
from bridge.policy_loader.authors import Author, Authors
from bridge.policy_loader.submissions import CONFIG_MAP, LOST, STATUS_ANNOTATION, VIEW_MISSING, ModuleProblem, Verdict
from bridge.work import PAUSE, RetryQueue

log = structlog.get_logger(__name__)

MOST_PROBLEMS = 10  # of one object: an annotation and a status have a size limit
LONGEST_MESSAGE = 1000  # characters of a problem's message


class ObjectEvent(NamedTuple):
    """An Event of type Normal or Warning."""

    event_type: EventType
    reason: str
    message: str


def annotation(verdict: Verdict, refusing: Sequence[str] = ()) -> str:
    """Return the annotation's value: `ok`, `error` with OPA's errors, or `pending` until OPA has loaded it.

    `refusing` are the replicas whose OPA refuses an accepted version.
    """
    if verdict.accepted:
        found: dict[str, Any] = {"status": "ok" if verdict.programmed else "pending"}
        if verdict.failing:
            found["failing"] = [_format_opa_error(problem) for problem in verdict.failing[:MOST_PROBLEMS]]
        if refusing:
            found["refusedBy"] = refusing
        return _encode(found)
    error = {
        "code": verdict.problems[0].code,
        "message": summary(verdict),
        "errors": [_format_opa_error(problem) for problem in verdict.problems[:MOST_PROBLEMS]],
    }
    return _encode({"status": "error", "error": error})


def status(
    verdict: Verdict, generation: int, current: Mapping[str, Any], now: str, refusing: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a RegoPolicy's status. `current` is its current one; `now` is the time for changed conditions.

    `refusing` are the replicas whose OPA refuses an accepted version.
    """
    wanted = [_make_accepted(verdict), _make_programmed(verdict, refusing)]
    found: dict[str, Any] = {
        "observedGeneration": generation,
        "conditions": [_add_times(one, generation, current, now) for one in wanted],
    }
    if problems := (*verdict.problems, *verdict.failing):
        found["problems"] = [_format_problem(problem) for problem in problems[:MOST_PROBLEMS]]
    if verdict.active:
        before = current.get("inForce") or {}
        # The revision with which it became active. Later ones have it too: a change of others changes nothing here.
        kept = before.get("version") == verdict.active and before.get("revision")
        found["inForce"] = {"version": verdict.active, "revision": kept or verdict.revision}
    if refusing and verdict.accepted:
        found["refusedBy"] = refusing
    return found


def event(verdict: Verdict, *, fixed: bool) -> ObjectEvent | None:
    """Return the Event for a new verdict; `fixed` means that the previous one was a rejection."""
    if not verdict.accepted:
        reason = "RulesLost" if verdict.problems[0].code == LOST else "PolicyRefused"
        return ObjectEvent("Warning", reason, summary(verdict))
    if verdict.failing:
        return ObjectEvent("Warning", "PolicyFails", summary_of_failing(verdict.failing))
    return ObjectEvent("Normal", "PolicyInForce", "The new version is active") if fixed and verdict.programmed else None


def summary(verdict: Verdict) -> str:
    """Return a rejection in one line: the first problem, the number of others, and the active version."""
    first, *others = verdict.problems
    more = f" (and {len(others)} more)" if others else ""
    instead = "the last good version stays active" if verdict.active else "no version is active"
    return f"{place(first)}{_cut(first.message)}{more}; {instead}"


def summary_of_failing(failing: Sequence[ModuleProblem]) -> str:
    """Return on what an active version fails in one line: the first object, and the number of others."""
    first, *others = failing
    more = f" (and {len(others)} more)" if others else ""
    if first.code == VIEW_MISSING:
        return f"{place(first)}{_cut(first.message)}{more}"
    return f"{place(first)}{_cut(first.message)}{more}; the modules stay active without these objects"


def utc_now() -> str:
    """Return the current time as Kubernetes writes it."""
    return utc_ago(0.0)


def utc_ago(seconds: float) -> str:
    """Return the time before so many seconds in the same form, of which a text that sorts lower is earlier."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(problem: ModuleProblem) -> str:
    """Return `file:line:column: `, or the known part of it."""
    parts = [problem.file, *(str(number) for number in (problem.line, problem.column) if number)]
    return f"{':'.join(parts)}: " if problem.file else ""


def _format_opa_error(problem: ModuleProblem) -> dict[str, Any]:
    location = {"file": problem.file, "row": problem.line, "col": problem.column}
    return {"code": problem.code, "message": _cut(problem.message), "location": location}


def _format_problem(problem: ModuleProblem) -> dict[str, Any]:
    where = {"file": problem.file, "line": problem.line, "column": problem.column}
    return {"code": problem.code, "message": _cut(problem.message), **{name: at for name, at in where.items() if at}}


def _make_accepted(verdict: Verdict) -> dict[str, str]:
    if verdict.accepted:
        return _make_condition(
            "Accepted", "True", "Accepted", "The modules compile with all others, and their tests pass"
        )
    return _make_condition("Accepted", "False", _make_reason(verdict.problems[0].code), summary(verdict))


def _make_programmed(verdict: Verdict, refusing: Sequence[str]) -> dict[str, str]:
    if verdict.programmed:
        message = summary_of_failing(verdict.failing) if verdict.failing else "OPA uses this version"
        message += f"; the OPA of {', '.join(refusing)} refuses it" if refusing else ""
        return _make_condition("Programmed", "True", "Programmed", message)
    if verdict.accepted:
        return _make_condition("Programmed", "False", "Pending", "OPA has not activated this version yet")
    if verdict.active:
        return _make_condition("Programmed", "False", "LastGoodVersion", "OPA uses the last good version")
    return _make_condition("Programmed", "False", "NotAccepted", "OPA has no version of this object")


def _make_condition(type_: str, status_: str, reason: str, message: str) -> dict[str, str]:
    return {"type": type_, "status": status_, "reason": reason, "message": message}


def _add_times(condition: dict[str, str], generation: int, current: Mapping[str, Any], now: str) -> dict[str, Any]:
    conditions: Sequence[Mapping[str, Any]] = current.get("conditions") or ()
    before = next((one for one in conditions if one.get("type") == condition["type"]), {})
    since = before.get("lastTransitionTime") if before.get("status") == condition["status"] else None
    return {**condition, "observedGeneration": generation, "lastTransitionTime": since or now}


def _make_reason(code: str) -> str:
    """Return a condition's reason for OPA's code: `rego_parse_error` is RegoParseError."""
    reason = "".join(word.capitalize() for word in re.findall("[a-zA-Z]+", code))
    return reason or "Refused"


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def announce(authors: Authors, record: Record) -> None:
    """Record each rejection of an author's object from now on, and its end."""
    refused: dict[Key, ObjectEvent] = {}

    def record_rejection(key: Key, obj: Object | None) -> None:
        author = authors.known.get(key)
        verdict = author.judgement if author else None
        if author is None or verdict is None:
            if obj is None:
                refused.pop(key, None)
            return
        found = event(verdict, fixed=key in refused)
        if found is None or found == refused.get(key):
            return
        if found.event_type == "Normal":
            del refused[key]
        else:
            refused[key] = found
        record(author.identity, found.event_type, found.reason, found.message)

    authors.listen(record_rejection)


PATIENCE = 5.0  # seconds without activation after which an object reports that
GAP = 1.0  # seconds between two writes to one object


class Reporter:
    """Updates each author's annotation or status to its verdict, and reports changes in Events: `run` it as a task.

    `resource` returns how a type is served.
    """

    def __init__(
        self, authors: Authors, client: FencedClient, resource: Callable[[str], ResourceType | None], record: Record
    ) -> None:
        self.writes = 0
        self._authors = authors
        self._client = client
        self._resource = resource
        self._record = record
        self._queue: RetryQueue[Key] = RetryQueue(lambda key: key.namespace)
        self._left: dict[Key, Object] = {}  # former authors, which may still have the bridge's annotation
        self._wrote: dict[Key, float] = {}  # by the loop's clock
        self._pending: dict[Key, float] = {}  # the time since which OPA has not loaded it
        self._reported: dict[Key, tuple[str, tuple[ModuleProblem, ...]]] = {}
        self._forbidden = False
        self._replicas = Replicas(authors, client, record, lambda key: self._queue.add([key]))
        authors.listen(self._note)

    async def run(self) -> None:
        """Write until cancelled. A bridge that may not write now keeps what it would."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._replicas.run())
            while True:
                (key,) = await self._queue.take(1)
                while not self._client.may_write():  # noqa: ASYNC110 (the Lease has no event here)
                    await asyncio.sleep(PAUSE)
                await self._report(key)

    def _note(self, key: Key, obj: Object | None) -> None:
        author = self._authors.known.get(key)
        self._left.pop(key, None)
        if author is None:
            for memory in (self._wrote, self._reported, self._pending):
                memory.pop(key, None)
            if obj is None or STATUS_ANNOTATION not in (obj["metadata"].get("annotations") or {}):
                return
            self._left[key] = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
        judgement = author.judgement if author else None
        if judgement is not None and judgement.accepted and not judgement.programmed:
            self._pending.setdefault(key, asyncio.get_running_loop().time())
        else:
            self._pending.pop(key, None)
        self._queue.add([key])
        refused = judgement is not None and not judgement.accepted
        self._replicas.record_verdict(key, author, summary(judgement) if judgement and refused else "")

    async def _report(self, key: Key) -> None:
        now = asyncio.get_running_loop().time()
        due = max(self._wrote.get(key, -GAP) + GAP, self._pending.get(key, -PATIENCE) + PATIENCE)
        if due > now:
            self._queue.add_later(key, due - now)
            return
        author = self._authors.known.get(key)
        resource = self._resource(key.type_id)
        current, patch = self._plan(key, author)
        if patch is None or resource is None:
            return
        subresource: Literal["status"] | None = "status" if "status" in patch else None
        version = current["metadata"].get("resourceVersion")
        try:
            await patch_object(self._client, resource, key, patch, subresource=subresource, resource_version=version)
        except (Conflict, NotFound):
            self._left.pop(key, None)
            return  # the concurrent change arrives next, and is checked
        except KubeError as error:
            self._queue.failed(key)
            self._log_forbidden(resource, error)
            return
        self._left.pop(key, None)
        self.writes += 1
        self._forbidden = False
        self._wrote[key] = asyncio.get_running_loop().time()
        self._queue.succeeded(key)

    def _plan(self, key: Key, author: Author | None) -> tuple[Object, dict[str, Any] | None]:
        """Return the object, and the patch that updates its status; None if it is up to date."""
        if author is None:
            left = self._left.get(key)
            patch = {"metadata": {"annotations": {STATUS_ANNOTATION: None}}} if left else None
            return left or {}, patch
        verdict = author.judgement
        if verdict is None:
            return author.identity, None
        metadata = author.identity["metadata"]
        if key.type_id == CONFIG_MAP:
            before = (metadata.get("annotations") or {}).get(STATUS_ANNOTATION, "")
            value = annotation(verdict, self._replicas.refusing(key))
            self._record_event(key, author, refused_before='"status":"error"' in before, news=value != before)
            annotated = {"metadata": {"annotations": {STATUS_ANNOTATION: value}}}
            return author.identity, annotated if value != before else None
        refusing = self._replicas.refusing(key)
        wanted = status(verdict, int(metadata.get("generation") or 0), author.status, utc_now(), refusing)
        current = {one.get("type"): one.get("status") for one in author.status.get("conditions") or ()}
        self._record_event(key, author, refused_before=current.get("Accepted") == "False", news=wanted != author.status)
        changed = {"status": {**dict.fromkeys(author.status), **wanted}}  # None removes missing fields
        return author.identity, changed if wanted != author.status else None

    def _record_event(self, key: Key, author: Author, *, refused_before: bool, news: bool) -> None:
        verdict = author.judgement
        found = event(verdict, fixed=refused_before) if verdict and news else None
        # The active version may become known later: that is not a new rejection.
        if found and verdict and self._reported.get(key) != (found.reason, verdict.problems):
            self._reported[key] = (found.reason, verdict.problems)
            self._record(author.identity, found.event_type, found.reason, found.message)

    def _log_forbidden(self, resource: ResourceType, error: KubeError) -> None:
        if isinstance(error, Forbidden) and not self._forbidden:
            self._forbidden = True
            what = resource.name if resource.group == "core" else f"{resource.name}/status"
            log.warning("cannot report module status", resource=what, why=error.message)


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
