"""Events (events.k8s.io/v1): the part of `kubectl describe` and `kubectl events` about an object.

- The same report within `WINDOW` seconds is one Event with a count (its `series`), written at the second time and then
  once in `HEARTBEAT` seconds. Its name follows from its content, so replicas and restarts of the bridge write one Event
  for it, too.
- Recording costs its caller nothing and never fails. Writes are bounded: `RATE` requests a second after a `BURST`, and
  so is the queue: `ROOM` Events.
- Events of one namespace and reason are a group. Groups take turns in being written; when the queue is full, the
  largest group loses its oldest Event, so a flood of one kind does not displace the others.
- The recorder waits for an unavailable API server; an Event that could not be written for `PATIENCE` seconds is
  dropped. Missing permissions are logged once.
"""

import hashlib
import os
import re
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import Conflict, Forbidden, Invalid, KubeError, NotFound
from bridge.model.keys import CLUSTER, Key, group_of
from bridge.model.observability import EventType
from bridge.work import FAILED, Backoff, Budget, RetryQueue

log = structlog.get_logger(__name__)

WINDOW = 600.0  # seconds; the API server keeps Events for an hour
HEARTBEAT = 30.0
RATE = 5.0
BURST = 50
ROOM = 1000
PATIENCE = 600.0
NOTE_BYTES = 1024  # the API server's limit, in bytes of UTF-8
RESULTS = ("written", "refused", "dropped")

_Identity = tuple[str, ...]  # the group (namespace and reason), then the rest of the report


@dataclass(slots=True)
class _RecordedEvent:
    """One report about an object, and its Event."""

    regarding: dict[str, Any]
    event_type: EventType
    reason: str
    note: str
    first: datetime
    last: datetime
    seen: float  # by the monotonic clock, the last report
    count: int = 1
    name: str = ""  # of its Event; empty: none is written
    counted: int = 0  # counts of the replica, or the earlier process, that wrote the Event first
    written: int = 0  # the part of `count` in the Event
    wrote: float = 0.0  # time of the last write
    waiting_since: float = 0.0


def _group(identity: _Identity) -> str:
    """Return the group with which a report takes turns."""
    return "/".join(identity[:2])


class Recorder:
    """Writes Events as `component` (a qualified name, such as `policybridge.io/bridge`): `run` it as a task."""

    def __init__(self, client: KubeClient, component: str) -> None:
        self._client = client
        self._component = component
        self._instance = f"{socket.gethostname()}-{os.getpid()}"[:128]
        self._events: OrderedDict[_Identity, _RecordedEvent] = OrderedDict()
        self._queue: RetryQueue[_Identity] = RetryQueue(_group)
        self._writing: _Identity = ()  # what is written now
        self._forbidden = False
        self._dropping = False
        self.results: Counter[str] = Counter()  # results of writes: RESULTS

    @property
    def waiting(self) -> int:
        """Return the number of waiting Events."""
        return len(self._queue) + bool(self._writing)

    def record(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        """Report on an object (apiVersion, kind and metadata are read). Never raises, and returns immediately.

        `reason` is one CamelCase word; `message` is cut to 1,024 bytes. Without `metadata.uid` (an object that is not
        created yet) `kubectl events` shows the Event, and `kubectl describe` does not.
        """
        try:
            self._note(regarding, event_type, reason, message)
        except Exception as error:  # noqa: BLE001 (telling of a thing must never break the thing)
            log.warning("Event not recorded", why=str(error), reason=reason, message=message)

    async def run(self) -> None:
        """Write recorded Events, until cancelled."""
        budget = Budget(RATE, BURST)
        backoff = Backoff(FAILED)
        while True:
            [identity] = await self._queue.take(1)
            event = self._events.get(identity)
            if event is None:  # it was dropped meanwhile
                continue
            self._writing = identity
            await budget.spend()
            count = event.count
            written = await self._write(event, count)
            self._writing = ()
            if not written:
                self._queue.add([identity], first=True)  # of its group: the others have their turns before
                await backoff.wait()
                continue
            backoff.reset()
            if event.count > count and event.name:
                self._wait(identity, event)

    def _note(self, regarding: Mapping[str, Any], event_type: EventType, reason: str, message: str) -> None:
        reference = _make_reference(regarding)
        note = _cut(message)
        identity = (reference.get("namespace", ""), reason, *map(str, reference.values()), event_type, note)
        now, clock = datetime.now(UTC), time.monotonic()
        event = self._events.get(identity)
        if event is None or clock - event.seen > WINDOW:
            event = _RecordedEvent(reference, event_type, reason, note, now, now, clock)
            self._events[identity] = event
        else:
            event.count += 1
            event.last, event.seen = now, clock
        self._events.move_to_end(identity)
        if identity not in self._queue and identity != self._writing:
            event.waiting_since = clock
            self._wait(identity, event)
        self._make_room()

    def _wait(self, identity: _Identity, event: _RecordedEvent) -> None:
        """Let an event wait for its write; one that was written with a count waits longer."""
        if event.written > 1:
            self._queue.add_later(identity, event.wrote + HEARTBEAT - time.monotonic())
        else:
            self._queue.add([identity])

    def _make_room(self) -> None:
        """Forget the oldest event that is written; if all wait, drop the oldest one of the largest group."""
        while len(self._events) > ROOM:
            waiting = [one for one in self._events if one in self._queue]
            if self.waiting < len(self._events):
                waits = {*waiting, self._writing}
                del self._events[next(one for one in self._events if one not in waits)]
                continue
            [(largest, _)] = Counter(map(_group, waiting)).most_common(1)
            dropped = next(one for one in waiting if _group(one) == largest)
            del self._events[dropped]
            self._queue.discard(dropped)
            self.results["dropped"] += 1
            if not self._dropping:
                self._dropping = True
                log.warning("Events dropped, rate limit exceeded", per_second=RATE, waiting=ROOM)

    async def _write(self, event: _RecordedEvent, count: int) -> bool:
        """Write one with its count; False if the API server needs a pause."""
        try:
            await self._send(event, count)
        except Forbidden as error:
            self.results["refused"] += 1
            self._explain(error)
        except (Invalid, NotFound) as error:  # a deleted namespace, or an object with an invalid name
            self.results["refused"] += 1
            log.info("Event write failed", object=_name_object(event.regarding), reason=event.reason, why=str(error))
        except KubeError:
            if time.monotonic() - event.waiting_since < PATIENCE:
                return False
            self.results["dropped"] += 1
            log.info("Event dropped, API server unavailable too long", reason=event.reason, note=event.note)
        else:
            self.results["written"] += 1
            self._forbidden = self._dropping = False
            event.written, event.wrote = count, time.monotonic()
        return True

    async def _send(self, event: _RecordedEvent, count: int) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{event.regarding.get('namespace') or 'default'}/events"
        if not event.name:
            name = _make_name(event)
            try:
                await self._client.post(path, self._make_event(event, name, count))
            except Conflict:  # another replica has written it, or this one before a restart
                existing = await self._client.patch(f"{path}/{name}", {})  # a read, for which `patch` is enough
                seen, event.counted = _count_seen(existing, event, count)
            else:
                seen, event.counted = count, 0
            event.name = name
            if seen == event.counted + count:
                return
        try:
            await self._client.patch(f"{path}/{event.name}", {"series": _make_series(event, count)})
        except NotFound:  # it has expired
            event.name, event.counted = "", 0
            await self._send(event, count)

    def _make_event(self, event: _RecordedEvent, name: str, count: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name},
            "eventTime": _format_time(event.first),
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "action": event.reason,
            "reason": event.reason,
            "regarding": event.regarding,
            "note": event.note,
            "type": event.event_type,
        }
        return body | ({"series": _make_series(event, count)} if count > 1 else {})

    def _explain(self, error: Forbidden) -> None:
        if "being terminated" in error.message:
            return  # its namespace is being deleted, with all its Events
        if not self._forbidden:
            self._forbidden = True
            log.warning("cannot write Events, create and patch permissions missing", why=error.message)


def _make_reference(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ObjectReference. Raises KeyError if the value is not an object."""
    metadata = obj["metadata"]
    name = metadata.get("name") or metadata.get("generateName")
    found = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": name or "-"}
    found.update({part: metadata[part] for part in ("namespace", "uid") if metadata.get(part)})
    return found


def _name_object(reference: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (reference["kind"], reference.get("namespace"), reference["name"])))


def _cut(message: str) -> str:
    data = message.encode("utf-8", "replace")
    if len(data) <= NOTE_BYTES:
        return data.decode()
    mark = "…"
    return data[: NOTE_BYTES - len(mark.encode())].decode("utf-8", "ignore") + mark


def _make_series(event: _RecordedEvent, count: int) -> dict[str, Any]:
    return {"count": event.counted + count, "lastObservedTime": _format_time(event.last)}


def _count_seen(existing: Mapping[str, Any], event: _RecordedEvent, count: int) -> tuple[int, int]:
    """Return the count of an existing Event, and the part from others: simultaneous reports of replicas count once."""
    series = existing.get("series") or {}
    seen = read_time(series.get("lastObservedTime") or existing.get("eventTime"))
    count_: int = series.get("count", 1)
    at_once = seen is not None and (event.last - seen).total_seconds() < HEARTBEAT
    return count_, max(0, count_ - count) if at_once else count_


def _make_name(event: _RecordedEvent) -> str:
    """Return a name that follows from the report, and begins with the object's if Events may have such names."""
    name: str = event.regarding["name"]
    content = [*event.regarding.items(), event.event_type, event.reason, event.note]
    suffix = "." + hashlib.sha256(repr(content).encode()).hexdigest()[:16]
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name) or len(name) + len(suffix) > 253:
        name = hashlib.sha256(name.encode()).hexdigest()[:16]
    return name + suffix


def _format_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_time(text: str | None) -> datetime | None:
    """Return an Event's time; None if it has none, or one outside of the years 1 to 9999: the API server takes it."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


_MOST = "100"  # Events about an object that are read


async def list_events(client: KubeClient, namespace: str, selector: str, most: str) -> list[dict[str, Any]]:
    """Return the Events of a namespace, at most `most`; those of cluster-scoped objects (`-`) are in `default`.

    Raises KubeError.
    """
    place = "default" if namespace == CLUSTER else namespace
    answer = await client.get(f"/api/v1/namespaces/{place}/events", {"fieldSelector": selector, "limit": most})
    found: list[dict[str, Any]] = answer["items"]
    return found


async def events_about(client: KubeClient, key: Key) -> list[dict[str, Any]]:
    """Return the Events about an object, the oldest first: `{type, reason, message, count, last, from}`.

    Raises KubeError.
    """
    selector = f"involvedObject.kind={key.kind},involvedObject.name={key.name}"
    found = [
        {
            "type": event.get("type", ""),
            "reason": event.get("reason", ""),
            "message": event.get("message", ""),
            "count": event.get("count") or 1,
            "last": event.get("lastTimestamp") or event.get("eventTime") or "",
            "from": (event.get("source") or {}).get("component") or event.get("reportingComponent", ""),
        }
        for event in await list_events(client, key.namespace, selector, _MOST)
        if group_of((event.get("involvedObject") or {}).get("apiVersion") or "v1") == key.group
    ]
    return sorted(found, key=lambda event: str(event["last"]))
