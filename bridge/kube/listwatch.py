"""List and watch one type, for ever, from where it was.

Three short generators: `list_and_watch` repeats `_list` and `_watch` and tells what goes wrong; `_list` gives one whole
listing in pages; `_watch` gives what one stream says, which may begin with the whole listing. The library's own watch
is not used: it parses into typed models, reads lines up to a limit, and does not list again after a 410.
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
from bridge.kube.events import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    WatchEvent,
    ends_initial_events,
    metadata_of,
    read_event,
    read_object,
    read_page,
)
from bridge.kube.pace import Pace, WatchBackoff
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Rejected, Trouble, Upserted
from bridge.model.keys import key_of
from bridge.model.selection import EVERYTHING, Selection
from bridge.model.types import ResourceType


class LineSplitter:
    r"""Joins pieces of a stream and cuts them at `\n`.

    The HTTP library's own reader of lines gives up at 512 KiB, and an object may be larger than that.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # pieces of a line whose end has not come; joined once, when it comes

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece, without their ends and without empty ones."""
        first, *others = piece.split(b"\n")
        self._begun.append(first)
        if not others:
            return []
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun = [others[-1]]
        return [line for line in lines if line.strip()]


_PAGE_TIMEOUT = 60.0  # seconds for one page of a list
_SOON = 1.0  # seconds: a watch that ends sooner, without a word, is not opened again at once
_STANDARD_PACE = Pace()
EXPIRED = "expired"  # the API server has forgotten where the watch was
INTERRUPTED = "interrupted"  # the listing before has broken off


@dataclass(slots=True)
class _Position:
    """Where a watch goes on; empty: list first. With `streams` False the next listing is asked for in pages."""

    version: str = ""
    streams: bool = True
    missing_since: float | None = None
    refused: bool = False  # the API server is older than such streams, or they are switched off
    unopened: int = 0  # how many requests in a row were not answered in time
    why: str = ""  # the next listing is made; empty: it is the first

    def _still_hoped_for(self, pace: Pace) -> bool:
        """Whether a type that is not served may be there in a moment, because it was there a moment ago."""
        now = time.monotonic()
        if self.missing_since is None:
            self.missing_since = now
        return bool(self.version) and now - self.missing_since < pace.patience_for_missing

    def after(self, error: KubeError, pace: Pace) -> bool:
        """What to go on from after an error; True where the next attempt need not wait. Raises NotFound.

        Pages, which any API server has, are asked for where a streamed listing was refused or broke off.
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
    """What is asked of whom."""

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
    """Everything that happens to the objects of one type, as the change stream describes it.

    Of `selection` the selectors count; with `namespace` only the objects in it are read, and listings say so.
    `listing_begins` is told of each listing but the first why it is made: EXPIRED or INTERRUPTED.

    The listing is the beginning of the watch where the API server can do that (`sendInitialEvents`), else pages. One
    that breaks off is followed by a new one, which begins with `Listing` again. After a Trouble, an Upserted without
    objects says that the watch is open again. Errors do not end the iterator, with one exception: it raises NotFound
    when the API server does not serve the type (now, or any more).
    """
    target = _Target(client, resource, pace, namespace, selection.parameters, listing_begins)
    position = _Position(streams=pace.streams)
    backoff = WatchBackoff(pace)
    trouble = ""
    while True:
        error: KubeError | None = None
        listing = not position.version
        steps = (_watch if position.version or position.streams else _list)(target, position)
        opened: float | None = None  # when the watch was open; None for a listing
        changed = False
        try:
            async with aclosing(steps) as changes:
                async for change in changes:
                    position.missing_since = None
                    if change is None:
                        opened = time.monotonic()
                        if trouble and not listing:  # only then it is news that a watch is open
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
        if opened is not None or error is not None:  # after pages the watch begins at once
            lasted = opened is not None and (changed or time.monotonic() - opened > _SOON)
            await _pause(backoff, error, lasted=lasted)


async def _pause(backoff: WatchBackoff, error: KubeError | None, *, lasted: bool) -> None:
    """Wait before the next attempt, unless a watch that was of use has ended in good order."""
    if lasted:
        backoff.reset()
    if error is not None or not lasted:
        await asyncio.sleep(backoff.after(error))


async def _list(target: _Target, position: _Position) -> AsyncGenerator[Change | None, None]:
    """One whole listing. Its first change comes with the first page: a list that is refused has not begun."""
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
    position.why = INTERRUPTED  # if there is another one, but for an error that says more
    return Listing(target.resource.id, target.namespace)


async def _watch(target: _Target, position: _Position) -> AsyncGenerator[Change | None, None]:
    """What one stream says, after a None that says it is open. A stream that breaks ends as one that is closed.

    Where there is no position yet it begins with the whole listing; broken off in that, it raises Unreachable.
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
                return  # whether the server is away, the next attempt tells
            if not piece:
                if not position.version:
                    raise Unreachable(f"{target.client.server} ended the list of {target.path} before its end")
                return
            for change in _changes(map(read_event, splitter.feed(piece)), target.resource, position, target.namespace):
                yield change


def _changes(
    events: Iterable[WatchEvent], resource: ResourceType, position: _Position, namespace: str = ""
) -> Iterator[Change]:
    """The changes that these events make. Neighbours become one Upserted, with the newest state of each object.

    `position` is moved on when they have been taken, and not before the initial events have ended. Raises the error
    that an ERROR event stands for, after the changes before it.
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
