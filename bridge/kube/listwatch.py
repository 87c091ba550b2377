"""List and watch one type, for ever: pages, then a watch from their resourceVersion, again and again.

Three short generators: `list_and_watch` repeats `_list` and `_watch` and tells what goes wrong; `_list` gives one whole
listing; `_watch` gives what one stream says. The library's own watch is not used: it parses into typed models, reads
lines up to a limit, and does not list again after a 410.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec

from bridge.kube.client import KubeClient, parse
from bridge.kube.errors import (
    Expired,
    Garbled,
    KubeError,
    NotFound,
    Unauthorized,
    Unreachable,
    one_line,
    status_error,
)
from bridge.kube.explaining import explain
from bridge.kube.lines import LineSplitter
from bridge.kube.pace import Backoff, Pace
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Trouble, Upserted
from bridge.model.keys import key_of
from bridge.model.types import ResourceType

_PAGE_TIMEOUT = 60.0  # seconds for one page of a list
_SOON = 1.0  # seconds: a watch that ends sooner, without a word, is not opened again at once
_STANDARD_PACE = Pace()


class _Event(msgspec.Struct):
    type: str
    object: dict[str, Any]


@dataclass(slots=True)
class _Position:
    """Where a watch goes on; empty: list first."""

    version: str = ""


async def list_and_watch(
    client: KubeClient, resource: ResourceType, pace: Pace = _STANDARD_PACE
) -> AsyncGenerator[Change, None]:
    """Everything that happens to the objects of one type, as the change stream describes it.

    A listing that breaks off is followed by a new one, which begins with `Listing` again. After a Trouble, an Upserted
    without objects says that the watch is open again. Errors do not end the iterator, with one exception: it raises
    NotFound when the API server does not serve the type (now, or any more).
    """
    position = _Position()
    backoff = Backoff(pace)
    trouble = ""
    while True:
        error: KubeError | None = None
        steps = (_watch if position.version else _list)(client, resource, position, pace)
        opened: float | None = None  # when the watch was open; None for a listing
        changed = False
        try:
            async with aclosing(steps) as changes:
                async for change in changes:
                    if change is None:
                        opened = time.monotonic()
                        if trouble:  # only then it is news that a watch is open
                            yield Upserted(resource.id, ())
                    else:
                        changed = True
                        yield change
                    trouble = ""
        except Expired as expired:
            position.version = ""
            error = expired
        except NotFound:
            raise
        except KubeError as failure:
            error = failure
            if (message := explain(failure, resource, client.origin)) != trouble:
                trouble = message
                yield Trouble(resource.id, message, unknown=isinstance(failure, Unreachable | Unauthorized))
        if opened is not None or error is not None:  # after a listing the watch begins at once
            lasted = opened is not None and (changed or time.monotonic() - opened > _SOON)
            await _pause(backoff, error, lasted=lasted)


async def _pause(backoff: Backoff, error: KubeError | None, *, lasted: bool) -> None:
    """Wait before the next attempt, unless a watch that was of use has ended in good order."""
    if lasted:
        backoff.reset()
    if error is not None or not lasted:
        await asyncio.sleep(backoff.after(error))


async def _list(
    client: KubeClient, resource: ResourceType, position: _Position, pace: Pace
) -> AsyncGenerator[Change | None, None]:
    """One whole listing. Its first change comes with the first page: a list that is refused has not begun."""
    params = {"limit": str(pace.page)}
    while True:
        page = parse(await client.request("GET", resource.path, params=params, timeout=_PAGE_TIMEOUT))
        try:
            items, metadata = page["items"] or [], page["metadata"]
            version, token = metadata["resourceVersion"], metadata.get("continue")
        except (KeyError, TypeError, AttributeError) as error:
            raise Garbled(f"the answer to {resource.path} is no list") from error
        if "continue" not in params:
            yield Listing(resource.id)
        if items:
            yield Upserted(resource.id, tuple(_whole(item, resource) for item in items))
        if not token:
            position.version = version
            yield Listed(resource.id)
            return
        params["continue"] = token


async def _watch(
    client: KubeClient, resource: ResourceType, position: _Position, pace: Pace
) -> AsyncGenerator[Change | None, None]:
    """What one stream says, after a None that says it is open. A stream that breaks ends as one that is closed."""
    params = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": position.version,
        "timeoutSeconds": str(pace.watch_seconds()),
    }
    splitter = LineSplitter()
    async with client.stream(resource.path, params, silence=pace.silence) as read:
        yield None
        while True:
            try:
                piece = await read()
            except Unreachable:
                return  # whether the server is away, the next attempt tells
            if not piece:
                return
            for change in _changes(map(_event, splitter.feed(piece)), resource, position):
                yield change


def _changes(events: Iterable[_Event], resource: ResourceType, position: _Position) -> Iterator[Change]:
    """The changes that these events make. Neighbours become one Upserted, with the newest state of each object.

    `position` is moved on when they have been taken. Raises the error that an ERROR event stands for, after the
    changes before it.
    """
    upserted: dict[tuple[str | None, str], Object] = {}
    version = position.version
    for event in events:
        if event.type == "ERROR":
            if upserted:
                yield Upserted(resource.id, tuple(upserted.values()))
            position.version = version
            raise status_error(event.object)
        metadata = event.object.get("metadata") or {}
        if event.type in {"ADDED", "MODIFIED"}:
            upserted[metadata.get("namespace"), metadata["name"]] = _whole(event.object, resource)
        elif event.type == "DELETED":
            if upserted:
                yield Upserted(resource.id, tuple(upserted.values()))
                upserted = {}
            yield Deleted(resource.id, key_of(_whole(event.object, resource)))
        version = metadata.get("resourceVersion") or version
    if upserted:
        yield Upserted(resource.id, tuple(upserted.values()))
    position.version = version


def _event(line: bytes) -> _Event:
    try:
        event = msgspec.json.decode(line, type=_Event)
        if event.type in {"ADDED", "MODIFIED", "DELETED"} and not event.object["metadata"]["name"]:
            raise Garbled("a watch told of an object without a name")
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise Garbled(f"a watch said something that is no event: {one_line(error)}") from error
    return event


def _whole(item: Object, resource: ResourceType) -> Object:
    """An object with its apiVersion and kind, which the items of lists of built-in types lack."""
    if "kind" not in item or "apiVersion" not in item:
        item["apiVersion"] = resource.api_version
        item["kind"] = resource.kind
    return item
