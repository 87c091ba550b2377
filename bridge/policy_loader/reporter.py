"""Reports to authors: an annotation on a ConfigMap, a RegoPolicy's status, and one Event.

The annotation has the form of kube-mgmt's `openpolicyagent.org/kube-mgmt-status`, under a separate key.

For a folder of manifests, whose files are never written, rejections are logged.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
import structlog

from bridge.kube.kube_client import patch_object
from bridge.kube.kube_errors import Conflict, Forbidden, KubeError, NotFound
from bridge.kube.lease import FencedClient
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.observability import EventType, Record
from bridge.model.types import ResourceType
from bridge.policy_loader.authors import Author, Authors
from bridge.policy_loader.replicas import Replicas
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
