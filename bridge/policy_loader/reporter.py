"""Writes the verdicts on the authors' objects: differences only, by the holder of the Lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import structlog

from bridge.kube.client import KubeClient, patch_object
from bridge.kube.errors import Conflict, Forbidden, KubeError, NotFound
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.observability import Record
from bridge.model.types import ResourceType
from bridge.policy_loader import reports
from bridge.policy_loader.authors import Author, Authors
from bridge.policy_loader.submissions import CONFIG_MAP, ModuleProblem
from bridge.work import PAUSE, RetryQueue

log = structlog.get_logger(__name__)

PATIENCE = 5.0  # seconds without activation after which an object reports that
GAP = 1.0  # seconds between two writes to one object


class Reporter:
    """Updates each author's annotation or status to its verdict, and reports changes in Events: `run` it as a task.

    `resource` returns how a type is served, `may_write` whether the Lease is held.
    """

    def __init__(
        self,
        authors: Authors,
        client: KubeClient,
        resource: Callable[[str], ResourceType | None],
        may_write: Callable[[], bool],
        record: Record,
    ) -> None:
        self.writes = 0
        self._authors = authors
        self._client = client
        self._resource = resource
        self._may_write = may_write
        self._record = record
        self._queue: RetryQueue[Key] = RetryQueue(lambda key: key.namespace)
        self._left: dict[Key, Object] = {}  # former authors, which may still have the bridge's annotation
        self._wrote: dict[Key, float] = {}  # by the loop's clock
        self._pending: dict[Key, float] = {}  # the time since which OPA has not loaded it
        self._reported: dict[Key, tuple[str, tuple[ModuleProblem, ...]]] = {}
        self._forbidden = False
        authors.listen(self._note)

    async def run(self) -> None:
        """Write until cancelled. A bridge that may not write now keeps what it would."""
        while True:
            (key,) = await self._queue.take(1)
            while not self._may_write():  # noqa: ASYNC110 (the Lease has no event here)
                await asyncio.sleep(PAUSE)
            await self._report(key)

    def _note(self, key: Key, obj: Object | None) -> None:
        author = self._authors.known.get(key)
        self._left.pop(key, None)
        if author is None:
            for memory in (self._wrote, self._reported, self._pending):
                memory.pop(key, None)
            if obj is None or not _annotated(obj):
                return
            self._left[key] = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
        judgement = author.judgement if author else None
        if judgement is not None and judgement.accepted and not judgement.programmed:
            self._pending.setdefault(key, asyncio.get_running_loop().time())
        else:
            self._pending.pop(key, None)
        self._queue.add([key])

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
            patch = {"metadata": {"annotations": {reports.ANNOTATION: None}}} if left else None
            return left or {}, patch
        verdict = author.judgement
        if verdict is None:
            return author.identity, None
        metadata = author.identity["metadata"]
        if key.type_id == CONFIG_MAP:
            before = (metadata.get("annotations") or {}).get(reports.ANNOTATION, "")
            value = reports.annotation(verdict)
            self._tell(key, author, refused_before='"status":"error"' in before, news=value != before)
            annotated = {"metadata": {"annotations": {reports.ANNOTATION: value}}}
            return author.identity, annotated if value != before else None
        status = reports.status(verdict, int(metadata.get("generation") or 0), author.status, _time())
        current = {one.get("type"): one.get("status") for one in author.status.get("conditions") or ()}
        self._tell(key, author, refused_before=current.get("Accepted") == "False", news=status != author.status)
        changed = {"status": {**dict.fromkeys(author.status), **status}}  # None removes missing fields
        return author.identity, changed if status != author.status else None

    def _tell(self, key: Key, author: Author, *, refused_before: bool, news: bool) -> None:
        verdict = author.judgement
        event = reports.event(verdict, fixed=refused_before) if verdict and news else None
        # The active version may become known later: that is not a new rejection.
        if event and verdict and self._reported.get(key) != (event.reason, verdict.problems):
            self._reported[key] = (event.reason, verdict.problems)
            self._record(author.identity, event.event_type, event.reason, event.message)

    def _log_forbidden(self, resource: ResourceType, error: KubeError) -> None:
        if isinstance(error, Forbidden) and not self._forbidden:
            self._forbidden = True
            what = resource.plural if resource.group == "core" else f"{resource.plural}.{resource.group}/status"
            log.warning("cannot report module status, patch permission missing", resource=what, why=error.message)


def _annotated(obj: Object) -> bool:
    return reports.ANNOTATION in (obj["metadata"].get("annotations") or {})


def _time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
