"""List and watch one type, forever, from a position.

Three short generators: `list_and_watch` repeats `_list` and `_watch` and reports errors; `_list` yields one whole
listing in pages; `_watch` yields the events of one stream, which may begin with the whole listing. The library's own
watch is not used: it parses into typed models, limits the length of lines, and does not list again after a 410.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from bridge.kube.client import KubeClient
from bridge.kube.errors import (
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TimedOut,
    Unauthorized,
    Unreachable,
    explain,
    is_starting,
    status_error,
)
from bridge.kube.stream import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    Pace,
    WatchBackoff,
    WatchEvent,
    ends_initial_events,
    metadata_of,
    read_event,
    read_object,
    read_page,
)
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Trouble, Upserted
from bridge.model.keys import key_of
from bridge.model.types import EVERYTHING, ResourceType, Selection


class LineSplitter:
    r"""Joins pieces of a stream and cuts them at `\n`.

    The HTTP library's own line reader fails at 512 KiB, and an object may be larger.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # pieces of an unfinished line, joined once at its end

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that end in this piece, without line ends and without empty ones."""
        first, *others = piece.split(b"\n")
        self._begun.append(first)
        if not others:
            return []
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun = [others[-1]]
        return [line for line in lines if line.strip()]


_PAGE_TIMEOUT = 60.0  # seconds for one page of a list
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

    def _still_hoped_for(self, pace: Pace) -> bool:
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
            if not self._still_hoped_for(pace):
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
    listing_begins: Callable[[str], None]

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
    listing_begins: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Change, None]:
    """Yield all changes of the objects of one type, in the form of the change stream.

    `selection` has the selectors; with `namespace` only objects in it are read, and listings have it too.
    `listing_begins` gets the reason of each listing except the first: EXPIRED or INTERRUPTED.

    The listing is the beginning of the watch if the API server supports that (`sendInitialEvents`), otherwise pages. An
    interrupted one is followed by a new one, which begins with `Listing` again. After a Trouble, an Upserted without
    objects means that the watch is open again. Errors do not end the iterator, with one exception: it raises NotFound
    if the API server does not serve the type (anymore).
    """
    target = _Target(client, resource, pace, namespace, selection.parameters, listing_begins)
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
                        changed = True
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
                yield Trouble(resource.id, message, unknown=unknown)
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
    if position.why:
        target.listing_begins(position.why)
    position.why = INTERRUPTED  # unless an error has a more specific reason
    return Listing(target.resource.id, target.namespace)


async def _watch(target: _Target, position: _Position) -> AsyncGenerator[Change | None, None]:
    """Yield the events of one stream, after a None that it is open. An interrupted stream ends like a closed one.

    Without a position it begins with the whole listing; if interrupted there, it raises Unreachable.
    """
    pace = target.pace
    params = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(pace.watch_seconds())}
    params |= target.parameters
    if position.version:
        params["resourceVersion"] = position.version
    else:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    splitter = LineSplitter()
    silence = pace.silence if position.version else min(pace.silence, pace.first_silence)
    opening = min(pace.opening * 2.0 ** min(position.unopened, 30), pace.longest_opening)
    async with target.client.stream(target.path, params, opening=opening, silence=silence) as read:
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
            if listing and ends_initial_events(event):
                yield from _taken(upserted, resource)
                listing = False
                yield Listed(resource.id, namespace)
        else:
            found = read_object(event.object, resource)
            obj = found.identity if isinstance(found, Rejected) else found
            metadata = obj["metadata"]
            if event.type == DELETED:
                yield from _taken(upserted, resource)
                yield Deleted(resource.id, key_of(obj))
            elif isinstance(found, Rejected):
                yield from _taken(upserted, resource)
                yield found
            elif event.type in {ADDED, MODIFIED}:
                upserted[metadata.get("namespace"), metadata["name"]] = found
        if not listing:
            version = metadata.get("resourceVersion") or version
    yield from _taken(upserted, resource)
    position.version = version
    if event is not None and event.type == ERROR:
        raise status_error(event.status())


def _taken(upserted: dict[tuple[str | None, str], Object], resource: ResourceType) -> Iterator[Upserted]:
    if upserted:
        yield Upserted(resource.id, tuple(upserted.values()))
        upserted.clear()
