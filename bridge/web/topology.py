"""`/api/topology` and `/api/stream`: the hierarchy with its policies, the requested part of it, and its changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.model.keys import parse_key
from bridge.web.picture import PagePicture
from bridge.web.picture_updates import Drawing
from bridge.web.responses import Event, Streams, answer

FIRST_WAIT = 0.5  # seconds that the first request waits for the picture
_LARGE = 500  # nodes of a change from which on clients should request everything again
_LOOK = 0.5  # seconds between two checks of the state
_QUIET = 0.05  # seconds in which changes are combined
_RELOAD_PAUSE = 1.0
_HEARTBEAT = Event("heartbeat", {})  # by its absence a page notices that its connection is dead


class Topology:
    """Responds with the picture of a drawing. `checks` return why the bridge is not ready.

    `page` is a digest of the page's files.
    """

    def __init__(self, drawing: Drawing, streams: Streams, checks: Callable[[], Mapping[str, str]], page: str) -> None:
        self._drawing = drawing
        self._streams = streams
        self._checks = checks
        self._page = page

    async def get(self, request: web.Request) -> web.Response:
        """Return the current picture, or the requested part."""
        wanted = _wanted(request)
        drawing = self._drawing
        with drawing.looking():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_WAIT):
                    await drawing.whole.wait()
            picture = drawing.picture
            if wanted.below and not picture.node_of(wanted.below):
                raise Refused(404, "TargetNotFound", f"{wanted.below} is not in the picture")
            nodes = {key: node for key in chosen(picture, wanted) if (node := picture.node_of(key))}
            policies = {name: None for node in nodes.values() for name in (one["policy"] for one in node["policies"])}
            if not wanted.below and not wanted.searches:
                policies.update(dict.fromkeys(unattached(picture, drawing.policies)[: wanted.limit]))
            return answer({
                "revision": drawing.journal.name(),
                "whole": drawing.whole.is_set(),
                "total": picture.counts.nodes,
                "nodes": nodes,
                "policies": {name: drawing.policies[name] for name in policies if name in drawing.policies},
                "facets": picture.counts.facets,
            })  # fmt: skip

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Return the state and the changes, as server-sent events."""
        had = request.headers.get("Last-Event-ID") or request.query.get("since", "")
        with self._drawing.looking():
            return await self._streams.send(request, self._events(had), _HEARTBEAT)

    async def _events(self, had: str) -> AsyncIterator[Event]:
        journal = self._drawing.journal
        revision = journal.number(had)
        state: Any = None
        if revision is None:
            revision = journal.revision
            yield self._reload(revision)
        while True:
            present = self._state()
            if present != state:
                state = present
                yield Event("state", state)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await journal.after(revision)
            if journal.revision > revision:
                await asyncio.sleep(_QUIET)
                changed, upcoming = journal.since(revision), journal.revision
                if changed is None or len(changed) > _LARGE:
                    yield self._reload(upcoming)
                    await asyncio.sleep(_RELOAD_PAUSE)
                else:
                    yield self._delta(changed, upcoming)
                revision = upcoming

    def _state(self) -> dict[str, Any]:
        reasons = {name: why for name, why in self._checks().items() if why}
        return {
            "ready": not reasons,
            "reasons": reasons,
            "whole": self._drawing.whole.is_set(),
            "page": self._page,
        }

    def _reload(self, revision: int) -> Event:
        name = self._drawing.journal.name(revision)
        return Event("topology", {"revision": name, "reload": True}, name)

    def _delta(self, changed: set[tuple[Any, str]], revision: int) -> Event:
        drawing = self._drawing
        nodes = {key: drawing.picture.node_of(key) for what, key in sorted(changed) if what == "node"}
        policies = {key: drawing.policies.get(key) for what, key in sorted(changed) if what == "policy"}
        name = drawing.journal.name(revision)
        data = {
            "revision": name,
            "reload": False,
            "total": drawing.picture.counts.nodes,
            "nodes": {key: node for key, node in nodes.items() if node is not None},
            "gone": [key for key, node in nodes.items() if node is None],
            "policies": {key: policy for key, policy in policies.items() if policy is not None},
            "gonePolicies": [key for key, policy in policies.items() if policy is None],
        }
        return Event("topology", data, name)


def _wanted(request: web.Request) -> Wanted:
    parameters = request.query
    known = {"limit", "below", "offset", "namespace", "kind", "policyKind", "name"}
    if unknown := sorted(parameters.keys() - known):
        raise Refused(
            400, "InvalidInput", f"there is no parameter {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )
    return Wanted(
        limit=_number(parameters.get("limit"), "limit", 1, MOST, LIMIT),
        below=parameters.get("below", ""),
        offset=_number(parameters.get("offset"), "offset", 0, 10**9, 0),
        namespaces=parameters.getall("namespace", []),
        kinds=parameters.getall("kind", []),
        policy_kinds=parameters.getall("policyKind", []),
        name=parameters.get("name", ""),
    )


def _number(text: str | None, name: str, least: int, most: int, otherwise: int) -> int:
    if not text:
        return otherwise
    # Python rejects numbers of thousands of digits.
    if not text.isdecimal() or len(text) > len(str(most)) or not least <= int(text) <= most:
        raise Refused(400, "InvalidInput", f"{name} must be a number from {least} to {most}")
    return int(text)


LIMIT = 400  # nodes of a response by default
MOST = 50_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: at most `limit` nodes, below one node, or those that match the filters, and all nodes above."""

    limit: int = LIMIT
    below: str = ""
    offset: int = 0
    namespaces: Sequence[str] = ()
    kinds: Sequence[str] = ()
    policy_kinds: Sequence[str] = ()
    name: str = ""

    @property
    def searches(self) -> bool:
        """Return whether the request has filters."""
        return bool(self.namespaces or self.kinds or self.policy_kinds or self.name)


def chosen(picture: PagePicture, wanted: Wanted) -> list[str]:
    """Return the keys of the nodes to return. A node has all its children or, if there are too many, none."""
    if wanted.searches:
        return _with_all_above(picture, sorted(_found(picture, wanted))[wanted.offset :][: wanted.limit])
    if wanted.below:
        first = picture.children(wanted.below)[wanted.offset :][: wanted.limit]
        return _expanded(picture, [child for child in first if picture.node_of(child)], wanted.limit)
    return _expanded(picture, picture.roots()[wanted.offset :][: wanted.limit], wanted.limit)


def unattached(picture: PagePicture, policies: Mapping[str, Any]) -> list[str]:
    """Return the policies at no node."""
    return sorted(policies.keys() - picture.counts.policies.keys())


def _expanded(picture: PagePicture, first: Iterable[str], limit: int) -> list[str]:
    taken = dict.fromkeys(first)
    upcoming = list(taken)
    for key in upcoming:  # it grows
        further = [child for child in picture.children(key) if child not in taken]
        if len(taken) + len(further) <= limit:
            taken.update(dict.fromkeys(further))
            upcoming += further
    return list(taken)


def _found(picture: PagePicture, wanted: Wanted) -> Iterable[str]:
    name = wanted.name.lower()
    for key in picture.shown():
        parts = parse_key(key)
        if (
            (not wanted.namespaces or parts.namespace in wanted.namespaces)
            and (not wanted.kinds or parts.type_id in wanted.kinds or parts.kind in wanted.kinds)
            and (not name or name in f"{parts.name}#{parts.section}".lower())
            and (not wanted.policy_kinds or _policy_kinds(picture, key).intersection(wanted.policy_kinds))
        ):
            yield key


def _policy_kinds(picture: PagePicture, key: str) -> set[str]:
    return {parse_key(policy).type_id for policy in picture.policies_at(key)}


def _with_all_above(picture: PagePicture, keys: Iterable[str]) -> list[str]:
    taken = dict.fromkeys(keys)
    upcoming = list(taken)
    for key in upcoming:  # it grows
        above = [parent for parent in picture.parents(key) if parent not in taken]
        taken.update(dict.fromkeys(above))
        upcoming += above
    return list(taken)
