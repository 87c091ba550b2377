"""List and watch one type, forever, from a position.

Three short generators: `list_and_watch` repeats `_list` and `_watch` and reports errors; `_list` yields one whole
listing in pages; `_watch` yields the events of one stream, which may begin with the whole listing. The library's own
watch is not used: it parses into typed models, limits the length of lines, and does not list again after a 410.

Only the metadata of an object is parsed; the rest goes to OPA unchanged. Unparsed parts cost nothing: a cluster's
objects are read about ten times as fast as a whole, with a fraction of the memory.
"""

import asyncio
import math
import random
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
from tenacity import wait_exponential

from bridge.kube.kube_client import KubeClient
from bridge.kube.kube_errors import (
    ApiError,
    Expired,
    Forbidden,
    Garbled,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    TimedOut,
    Unauthorized,
    Unreachable,
    Untrusted,
    explain,
    is_starting,
    one_line,
    status_error,
)
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Trouble, Upserted
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
from bridge.model.types import EVERYTHING, ResourceType, Selection
from bridge.work import Backoff

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
        return _decode(line, _EVENT)
    except msgspec.DecodeError as error:
        raise Garbled(f"invalid watch event: {one_line(error)}") from error


def read_page(body: bytes, path: str) -> Page:
    """Decode one page of a list. Raises Garbled for a body that is not a list; `path` is named in the text."""
    try:
        return _decode(body, _PAGE)
    except msgspec.DecodeError as error:
        raise Garbled(f"the answer to {path} is not a list: {one_line(error)}") from error


def _decode(text: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
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
        return _reject(_read_names(fields), resource, str(error))
    if not metadata.get("name"):
        return _reject(metadata, resource, "it has no name")
    if is_too_deep(fields):
        return _reject(metadata, resource, str(NestingError(MAX_DEPTH)))
    if _is_too_wide(fields, metadata):
        return _reject(metadata, resource, f"it has more than {MAX_VALUES} fields and items")
    return {**fields, **_type_of(resource), "metadata": metadata}


def _is_too_wide(fields: Fields, metadata: dict[str, Any]) -> bool:
    if not has_more_values(b",".join(map(bytes, fields.values())), MAX_VALUES):
        return False
    kept = [bytes(value) for name, value in fields.items() if name != "metadata"]
    return has_more_values(b",".join([*kept, msgspec.json.encode(metadata)]), MAX_VALUES)


def _reject(metadata: dict[str, Any], resource: ResourceType, reason: str) -> Rejected:
    identity = {**_type_of(resource), "metadata": {"name": "", **metadata}}
    return Rejected(resource.id, key_of(identity), identity, reason)


def _type_of(resource: ResourceType) -> dict[str, str]:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def metadata_of(fields: Fields) -> dict[str, Any]:
    """Return the metadata of an object, or of a bookmark. Raises Garbled."""
    try:
        found: dict[str, Any] = msgspec.to_builtins(_decode(fields["metadata"], _METADATA))
    except (msgspec.DecodeError, KeyError) as error:
        raise Garbled(f"its metadata cannot be read: {one_line(error)}") from error
    return found


def _read_names(fields: Fields) -> dict[str, Any]:
    """Return the identifying fields of an object with unreadable metadata; empty if these are unreadable too."""
    try:
        found: dict[str, Any] = msgspec.to_builtins(_decode(fields["metadata"], _NAMES))
    except (msgspec.DecodeError, KeyError):
        return {}
    return found


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
    """The waits between attempts: they double, with jitter, while the same error repeats.

    No AsyncRetrying: an attempt yields changes, and one that delivered some is a success, however it ends.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._kind: type[KubeError] | None = None
        self._backoff = Backoff(wait_exponential(multiplier=pace.first_wait, max=math.inf))

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
        longest = self._find_longest(error)
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if (
            retry_after
        ):  # the server knows best: one that has just started returns 429 for a second or two, type by type
            return min(retry_after, longest) * random.uniform(1.0, 1.1)  # noqa: S311 (spreads load)
        return min(wait, longest) * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load)

    def _find_longest(self, error: KubeError | None) -> float:
        # An unavailable or starting server causes little load, so its return is detected within a second or two.
        waits_for_server = isinstance(error, Unreachable | ServerError) and not isinstance(error, Untrusted)
        return self._pace.longest_wait_for_server if waits_for_server else self._pace.longest_wait


_LONGEST_LINE = 1 << 26  # bytes of one event; etcd stores at most a few MiB of an object


class LineSplitter:
    r"""Joins pieces of a stream and cuts them at `\n`.

    The HTTP library's own line reader fails at 512 KiB, and an object may be larger.
    """

    def __init__(self, longest: int = _LONGEST_LINE) -> None:
        self._longest = longest
        self._size = 0  # bytes of an unfinished line
        self._begun: list[bytes] = []  # pieces of an unfinished line, joined once at its end

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that end in this piece, without line ends and without empty ones.

        Raises Garbled for an unfinished line of more than `longest` bytes.
        """
        first, *others = piece.split(b"\n")
        self._begun.append(first)
        if not others:
            self._size += len(first)
            if self._size > self._longest:
                raise Garbled(f"a line has more than {self._longest} bytes")
            return []
        self._size = len(others[-1])
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun = [others[-1]]
        return [line for line in lines if line.strip()]


_PAGE_TIMEOUT = 60.0  # seconds for one page of a list
_OVERTIME = 15.0  # seconds that a watch may last longer than requested
_SOON = 1.0  # seconds: a watch that ends sooner, without an error, is not opened again immediately
_STANDARD_PACE = Pace()
EXPIRED = "expired"  # the API server no longer has the position of the watch
INTERRUPTED = "interrupted"  # the previous listing was interrupted


@dataclass(slots=True)
class _Position:
    """The position of a watch; empty: list first. With `streams` False the next listing is requested in pages."""

    version: str = ""
    streams: bool = True
    missing_since: float | None = None
    refused: bool = False  # the API server is older than such streams, or they are disabled
    unopened: int = 0  # consecutive requests without a response in time
    why: str = ""  # the reason of the next listing; empty: it is the first

    def _may_return(self, pace: Pace) -> bool:
        """Return whether a missing type may be served again soon, because it was served a moment ago."""
        now = time.monotonic()
        if self.missing_since is None:
            self.missing_since = now
        return bool(self.version) and now - self.missing_since < pace.patience_for_missing

    def after(self, error: KubeError, pace: Pace) -> bool:
        """Set the position after an error; True if the next attempt need not wait. Raises NotFound.

        If a streamed listing was rejected or interrupted, the next one uses pages, which any API server supports.
        """
        if isinstance(error, NotFound):
            if not self._may_return(pace):
                raise error
        elif isinstance(error, Expired):
            self.version, self.why = "", self.why and EXPIRED
            self.streams = pace.streams and not self.refused
        elif not self.version and self.streams and not isinstance(error, Forbidden | Unauthorized):
            self.streams = False
            self.refused = self.refused or isinstance(error, Invalid)
            return isinstance(error, Invalid | TimedOut)
        return False


@dataclass(frozen=True, slots=True)
class _Target:
    """The client, path and selection of a request."""

    client: KubeClient
    resource: ResourceType
    pace: Pace
    namespace: str
    parameters: Mapping[str, str]

    @property
    def path(self) -> str:
        return self.resource.collection(self.namespace)


async def list_and_watch(
    client: KubeClient,
    resource: ResourceType,
    pace: Pace = _STANDARD_PACE,
    *,
    selection: Selection = EVERYTHING,
    namespace: str = "",
) -> AsyncGenerator[Change, None]:
    """Yield all changes of the objects of one type, in the form of the change stream.

    `selection` has the selectors; with `namespace` only objects in it are read, and listings have it too.
    A Listing has the reason of each except the first: EXPIRED or INTERRUPTED.

    The listing is the beginning of the watch if the API server supports that (`sendInitialEvents`), otherwise pages. An
    interrupted one is followed by a new one, which begins with `Listing` again. After a Trouble, an Upserted without
    objects means that the watch is open again. Errors do not end the iterator, with one exception: it raises NotFound
    if the API server does not serve the type (anymore).
    """
    target = _Target(client, resource, pace, namespace, selection.parameters)
    position = _Position(streams=pace.streams)
    backoff = WatchBackoff(pace)
    trouble = ""
    while True:
        error: KubeError | None = None
        listing = not position.version
        steps = (_watch if position.version or position.streams else _list)(target, position)
        opened: float | None = None  # the time of the watch's opening; None for a listing
        changed = False
        try:
            async with aclosing(steps) as changes:
                async for change in changes:
                    position.missing_since = None
                    if change is None:
                        opened = time.monotonic()
                        if trouble and not listing:  # only then an open watch is news
                            yield Upserted(resource.id, ())
                    else:
                        changed = not listing  # a listing is no progress of a watch that expires each time
                        yield change
                    trouble = ""
        except KubeError as failure:
            unopened = opened is None and isinstance(failure, TimedOut)
            position.unopened = position.unopened + 1 if unopened else 0
            if position.after(failure, pace):
                continue
            error = failure
            if (
                not isinstance(error, Expired | NotFound)
                and (message := explain(error, resource, client.origin)) != trouble
            ):
                trouble = message
                unknown = isinstance(error, Unreachable | Unauthorized) or is_starting(error)
                yield Trouble(resource.id, message, unknown=unknown, forbidden=isinstance(error, Forbidden))
        if opened is not None or error is not None:  # after pages the watch begins immediately
            lasted = opened is not None and (changed or time.monotonic() - opened > _SOON)
            await _pause(backoff, error, lasted=lasted)


async def _pause(backoff: WatchBackoff, error: KubeError | None, *, lasted: bool) -> None:
    """Wait before the next attempt, unless a useful watch has ended without an error."""
    if lasted:
        backoff.reset()
    if error is not None or not lasted:
        await asyncio.sleep(backoff.after(error))


async def _list(target: _Target, position: _Position) -> AsyncGenerator[Change | None, None]:
    """Yield one whole listing. Its first change comes with the first page: a rejected list has not begun."""
    resource = target.resource
    params = {**target.parameters, "limit": str(target.pace.page)}
    while True:
        body = await target.client.request("GET", target.path, params=params, timeout=_PAGE_TIMEOUT)
        page = read_page(body, target.path)
        if "continue" not in params:
            yield _listing(target, position)
        items = [read_object(item, resource) for item in page.items or ()]
        if objects := tuple(item for item in items if not isinstance(item, Rejected)):
            yield Upserted(resource.id, objects)
        for item in items:
            if isinstance(item, Rejected):
                yield item
        if not page.metadata.token:
            position.version = page.metadata.resource_version
            yield Listed(resource.id, target.namespace)
            return
        params["continue"] = page.metadata.token


def _listing(target: _Target, position: _Position) -> Listing:
    why, position.why = position.why, INTERRUPTED  # the next one's, unless an error has a more specific reason
    return Listing(target.resource.id, target.namespace, why)


async def _watch(target: _Target, position: _Position) -> AsyncGenerator[Change | None, None]:
    """Yield the events of one stream, after a None that it is open. An interrupted stream ends like a closed one.

    Without a position it begins with the whole listing; if interrupted there, it raises Unreachable.
    """
    pace = target.pace
    seconds = pace.watch_seconds()
    params = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
    params |= target.parameters
    if position.version:
        params["resourceVersion"] = position.version
    else:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    splitter = LineSplitter()
    silence = pace.silence if position.version else min(pace.silence, pace.first_silence)
    opening = min(pace.opening * 2.0 ** min(position.unopened, 30), pace.longest_opening)
    limits = {"opening": opening, "silence": silence, "longest": opening + seconds + _OVERTIME}
    async with target.client.stream(target.path, params, **limits) as read:
        yield None
        if not position.version:
            yield _listing(target, position)
        while True:
            try:
                piece = await read()
            except Unreachable:
                if not position.version:
                    raise
                return  # the next attempt shows whether the server is unavailable
            if not piece:
                if not position.version:
                    raise Unreachable(f"{target.client.server} ended the list of {target.path} before it was complete")
                return
            for change in _changes(map(read_event, splitter.feed(piece)), target.resource, position, target.namespace):
                yield change


def _changes(
    events: Iterable[WatchEvent], resource: ResourceType, position: _Position, namespace: str = ""
) -> Iterator[Change]:
    """Yield the changes of these events. Neighbors become one Upserted, with the newest state of each object.

    `position` advances after the changes are processed, and not before the initial events have ended. Raises the error
    of an ERROR event, after the changes before it.
    """
    upserted: dict[tuple[str | None, str], Object] = {}
    version = position.version
    listing = not version
    event = None
    for event in events:
        if event.type == ERROR:
            break
        if event.type == BOOKMARK:
            metadata = metadata_of(event.object)
            if listing and _INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
                yield from _take_upserted(upserted, resource)
                listing = False
                yield Listed(resource.id, namespace)
        else:
            found = read_object(event.object, resource)
            obj = found.identity if isinstance(found, Rejected) else found
            metadata = obj["metadata"]
            if event.type == DELETED:
                yield from _take_upserted(upserted, resource)
                yield Deleted(resource.id, key_of(obj))
            elif isinstance(found, Rejected):
                yield from _take_upserted(upserted, resource)
                yield found
            elif event.type in {ADDED, MODIFIED}:
                upserted[metadata.get("namespace"), metadata["name"]] = found
        if not listing:
            version = metadata.get("resourceVersion") or version
    yield from _take_upserted(upserted, resource)
    position.version = version
    if event is not None and event.type == ERROR:
        raise status_error(event.status())


def _take_upserted(upserted: dict[tuple[str | None, str], Object], resource: ResourceType) -> Iterator[Upserted]:
    if upserted:
        yield Upserted(resource.id, tuple(upserted.values()))
        upserted.clear()
