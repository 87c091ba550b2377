"""The stream of a list-and-watch: pages and events from JSON, and its times, in seconds.

Only the metadata of an object is parsed; the rest goes to OPA unchanged. Unparsed parts cost nothing: a cluster's
objects are read about ten times as fast as a whole, with a fraction of the memory.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import msgspec

from bridge.kube.errors import ApiError, Garbled, KubeError, ServerError, Unreachable, Untrusted, one_line
from bridge.model.changes import Object, Rejected
from bridge.model.keys import key_of
from bridge.model.nesting import (
    MAX_DEPTH,
    MAX_MESSAGE_DEPTH,
    MAX_VALUES,
    Decoded,
    NestingError,
    cut,
    decode,
    has_more_values,
    is_too_deep,
)
from bridge.model.types import ResourceType
from bridge.work import Backoff, Delays

Fields = dict[str, msgspec.Raw]  # an object's fields by name, as JSON text

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"

# A bookmark with this annotation ends the initial events of a watch that began with them.
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: Fields

    def status(self) -> dict[str, Any]:
        """Return the Status object of an ERROR event. Raises Garbled."""
        try:
            return {name: decode(value) for name, value in self.object.items()}
        except msgspec.DecodeError as error:
            raise Garbled(f"watch error is not a Status: {one_line(error)}") from error


class _ObjectMetadata(msgspec.Struct, omit_defaults=True):
    """Kubernetes' ObjectMeta without managedFields, which are unused and a large part of it."""

    name: str = ""
    generateName: str = ""  # noqa: N815 (as it is written)
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815
    generation: int = 0
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    deletionGracePeriodSeconds: int | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[Any] | None = None  # noqa: N815
    finalizers: list[str] | None = None


class _Names(msgspec.Struct, omit_defaults=True):
    """The identifying fields of an object with otherwise invalid metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815


class _ListMetadata(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion")
    token: str | None = msgspec.field(name="continue", default=None)


class Page(msgspec.Struct):
    """One page of a list."""

    items: list[Fields] | None
    metadata: _ListMetadata


_EVENT = msgspec.json.Decoder(WatchEvent)
_PAGE = msgspec.json.Decoder(Page)
_METADATA = msgspec.json.Decoder(_ObjectMetadata)
_NAMES = msgspec.json.Decoder(_Names)


def read_event(line: bytes) -> WatchEvent:
    """Decode one line of a watch. Raises Garbled for a line that is not an event."""
    try:
        return _decoded(line, _EVENT)
    except msgspec.DecodeError as error:
        raise Garbled(f"invalid watch event: {one_line(error)}") from error


def read_page(body: bytes, path: str) -> Page:
    """Decode one page of a list. Raises Garbled for a body that is not a list; `path` is named in the text."""
    try:
        return _decoded(body, _PAGE)
    except msgspec.DecodeError as error:
        raise Garbled(f"the answer to {path} is not a list: {one_line(error)}") from error


def _decoded(text: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    """Decode a message with objects. One that is too deep for Python is cut, and remains too deep for `read_object`."""
    try:
        return decode(text, decoder)
    except NestingError:
        return decode(cut(bytes(text), MAX_MESSAGE_DEPTH), decoder)


def read_object(fields: Fields, resource: ResourceType) -> Object | Rejected:
    """Return an object with its apiVersion and kind, which the items of lists of built-in types lack.

    An object that the bridge cannot handle is Rejected, and does not affect the others of its page or watch.
    """
    try:
        metadata = metadata_of(fields)
    except Garbled as error:
        return _rejected(_names_of(fields), resource, str(error))
    if not metadata.get("name"):
        return _rejected(metadata, resource, "it has no name")
    if is_too_deep(fields):
        return _rejected(metadata, resource, str(NestingError(MAX_DEPTH)))
    if _is_too_wide(fields, metadata):
        return _rejected(metadata, resource, f"it has more than {MAX_VALUES} fields and items")
    return {**fields, **_type_of(resource), "metadata": metadata}


def _is_too_wide(fields: Fields, metadata: dict[str, Any]) -> bool:
    if not has_more_values(b",".join(map(bytes, fields.values())), MAX_VALUES):
        return False
    kept = [bytes(value) for name, value in fields.items() if name != "metadata"]
    return has_more_values(b",".join([*kept, msgspec.json.encode(metadata)]), MAX_VALUES)


def _rejected(metadata: dict[str, Any], resource: ResourceType, reason: str) -> Rejected:
    identity = {**_type_of(resource), "metadata": {"name": "", **metadata}}
    return Rejected(resource.id, key_of(identity), identity, reason)


def _type_of(resource: ResourceType) -> dict[str, str]:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def metadata_of(fields: Fields) -> dict[str, Any]:
    """Return the metadata of an object, or of a bookmark. Raises Garbled."""
    try:
        found: dict[str, Any] = msgspec.to_builtins(_decoded(fields["metadata"], _METADATA))
    except (msgspec.DecodeError, KeyError) as error:
        raise Garbled(f"its metadata cannot be read: {one_line(error)}") from error
    return found


def _names_of(fields: Fields) -> dict[str, Any]:
    """Return the identifying fields of an object with unreadable metadata; empty if these are unreadable too."""
    try:
        found: dict[str, Any] = msgspec.to_builtins(_decoded(fields["metadata"], _NAMES))
    except (msgspec.DecodeError, KeyError):
        return {}
    return found


def ends_initial_events(event: WatchEvent) -> bool:
    """Return whether everything that existed at the start of the watch has been delivered."""
    return event.type == BOOKMARK and _INITIAL_EVENTS_END in (metadata_of(event.object).get("annotations") or {})


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of one list-and-watch.

    A watch is requested for `watch` seconds, a tenth more or less, so the watches of all types (and of all bridges) do
    not end together. A stream without a byte for `silence` seconds counts as dead: the API server sends a bookmark
    every minute. One that has not begun after `opening` seconds is requested again (a server that dies, or a proxy
    before it, may have lost the request), with doubled time, up to `longest_opening`, for slow servers. A listing is
    streamed unless `streams` is False, and is requested in pages of `page` objects if the stream stays silent for
    `first_silence` seconds, or is rejected. A type that was served a moment ago counts as missing when it is not served
    for `patience_for_missing` seconds: a starting API server knows no CRDs yet.
    """

    page: int = 500
    watch: float = 290.0
    opening: float = 5.0
    longest_opening: float = 40.0
    silence: float = 130.0
    first_silence: float = 15.0
    streams: bool = True
    first_wait: float = 0.1
    longest_wait: float = 10.0
    longest_wait_for_server: float = 0.5
    patience_for_missing: float = 2.0

    def watch_seconds(self) -> int:
        """Return the duration of the next watch."""
        return max(1, round(self.watch * random.uniform(0.9, 1.1)))  # noqa: S311 (spreads load, keeps no secret)


class WatchBackoff:
    """The waits between attempts: they double, with jitter, while the same error repeats."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._kind: type[KubeError] | None = None
        self._backoff = Backoff(Delays(pace.first_wait, math.inf))

    def reset(self) -> None:
        """Reset after a success: the next failure is a first one."""
        self._kind = None
        self._backoff.reset()

    def after(self, error: KubeError | None) -> float:
        """Return the wait after this error, or after a watch that ended immediately without one."""
        kind = type(error) if error else None
        if kind is not self._kind:  # a starting server refuses first, then returns 503, then 403: each is a new error
            self._kind = kind
            self._backoff.reset()
        wait = self._backoff.next()
        longest = self._longest(error)
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if (
            retry_after
        ):  # the server knows best: one that has just started returns 429 for a second or two, type by type
            return min(retry_after, longest) * random.uniform(1.0, 1.1)  # noqa: S311 (spreads load)
        return min(wait, longest) * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load)

    def _longest(self, error: KubeError | None) -> float:
        # An unavailable or starting server causes little load, so its return is detected within a second or two.
        waits_for_server = isinstance(error, Unreachable | ServerError) and not isinstance(error, Untrusted)
        return self._pace.longest_wait_for_server if waits_for_server else self._pace.longest_wait
