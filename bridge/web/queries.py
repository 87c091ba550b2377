"""Queries over HTTP, none of which writes.

- `POST /api/query/<name>`: queries of the contract
- `GET /api/object`: one object
- `GET /api/events`: the Events of one object
- `GET /api/uncovered`: effective targets without a policy
- `GET /api/reasons`: what reasons mean
- `POST /api/changes`: the effects of pasted manifests
- `GET /v1/effective`: effective policies for programs, once or as they change
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.kube.kube_errors import Forbidden, KubeError
from bridge.kube.recording import events_about
from bridge.model.keys import Key, is_key, key_of, parse_key
from bridge.queries.analysis import analyze, doubts_of_change, held_crds, policy_impact
from bridge.queries.asking import effective_at, objects, policy_kind, require_namespace, target_keys, uncovered
from bridge.queries.explained_reasons import Reason, explained_reasons
from bridge.queries.states import deleted_keys, plan_change
from bridge.sources.bounded_reading import TooCostlyError, read_manifests
from bridge.sources.pruning import prune
from bridge.web.backing import PresentBacking
from bridge.web.proxies import Proxies
from bridge.web.responses import Event, Streams, answer, body_of, decoded
from bridge.web.subscriptions import Followed, Following, Reader
from bridge.work import PAUSE

# Queries for people and programs. None of them writes.
ALLOWED = frozenset({
    "differences",
    "effective",
    "explain",
    "impact",
    "kinds_in_force",
    "names",
    "policies_below",
    "problems",
    "request",
    "scopes",
    "search",
    "status",
    "tree",
    "types",
    "violations",
})  # fmt: skip
MOST_INPUT = 4 << 20  # bytes of a body: `changes` may contain many objects


class Queries:
    """Passes allowed queries on to the OPA of `backing`; answers of `explain` have states of fields in `proxies`."""

    def __init__(self, backing: PresentBacking, proxies: Proxies) -> None:
        self._backing = backing
        self._proxies = proxies

    async def post(self, request: web.Request) -> web.Response:
        """Answer one query: the body is its input, as for OPA's data API (`{"input": {…}}`)."""
        name = request.match_info["name"]
        if name not in ALLOWED:
            raise Refused(404, "UnknownQuery", f"unknown query {name!r}; known: {', '.join(sorted(ALLOWED))}")
        async with body_of(request, MOST_INPUT) as content:
            query_input = decoded(content).get("input", {})
            if name == "impact":
                return answer({"result": await policy_impact(self._backing.engine(), query_input)})
            result = await self._backing.opa().query(name, query_input)
            if name == "explain":
                await self._proxies.explain(self._backing.opa(), query_input, result)
            return answer({"result": result})

    async def object(self, request: web.Request) -> web.Response:
        """Return the object of the parameter `key`, as OPA has it."""
        _, found = await self._named(request)
        return answer({"object": found})

    async def events(self, request: web.Request) -> web.Response:
        """Return the Events about an object that OPA has, None without a cluster, or why they cannot be read."""
        key, _ = await self._named(request)
        cluster = self._backing.cluster
        try:
            return answer({"events": await events_about(cluster, key) if cluster else None})
        except Forbidden:
            why = "the bridge may not list Events: grant it the permissions that `pbctl admin rbac` prints"
        except KubeError as error:
            why = str(error)
        return answer({"events": [], "unreadable": why})

    async def uncovered(self, request: web.Request) -> web.Response:
        """Return the effective targets that requests reach without the policy kind, or the field, of the parameter."""
        text = request.query.get("without", "")
        if not text:
            raise Refused(400, "InvalidInput", "name a policy kind: ?without=KIND[.spec.FIELD]")
        found = await uncovered(self._backing.opa(), text)
        reached = [entry["target"] for entry in found if any("notAttached" not in path for path in entry["paths"])]
        return answer({"targets": reached})

    async def _named(self, request: web.Request) -> tuple[Key, Any]:
        text = request.query.get("key", "")
        if not is_key(text):
            raise Refused(400, "InvalidInput", f"{text!r} is not a key: give ?key=<group>/<Kind>/<namespace>/<name>")
        key = parse_key(text).object
        found = await objects(self._backing.opa(), [key])
        if key not in found:
            raise Refused(404, "TargetNotFound", f"{key} does not exist")
        return key, found[key]


async def explain_reasons(_: web.Request) -> web.Response:
    """Return what reasons mean and what to do, a list for each name."""
    found: dict[str, list[Reason]] = {}
    for reason in explained_reasons():
        found.setdefault(reason.name, []).append(reason)
    return answer({"reasons": found})


MOST_MANIFESTS = 4 << 20  # bytes of manifests
_AT_ONCE = 2  # processes that read manifests


class Changes:
    """Analyzes manifests with the OPA of `backing`."""

    def __init__(self, backing: PresentBacking) -> None:
        self._backing = backing
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def post(self, request: web.Request) -> web.Response:
        """Analyze the manifests in the body, YAML or JSON; `?delete=OBJECT`, which may be repeated, adds deletions.

        All mistakes are reported: documents without mistakes count in any case, as in `pbctl analyze`.
        The work ends when the client disconnects.
        """
        self._backing.engine()
        async with body_of(request, MOST_MANIFESTS) as content:
            return await self._answer(request, content)

    async def _answer(self, request: web.Request, content: bytes) -> web.Response:
        deleted = request.query.getall("delete", [])
        analyzing = asyncio.create_task(self._analyze(content, deleted))
        try:
            while not (await asyncio.wait({analyzing}, timeout=PAUSE))[0]:
                if request.transport is None or request.transport.is_closing():
                    raise Refused(499, "Disconnected", "the client has disconnected")
            return await analyzing
        finally:
            analyzing.cancel()

    async def _analyze(self, content: bytes, deleted: Sequence[str]) -> web.Response:
        engine = self._backing.engine()
        async with self._slots:
            try:
                objects, problems, doubts = await read_manifests(content, await held_crds(engine))
            except OSError as error:
                message = f"this machine cannot read manifests now: {error.strerror or error}"
                raise Refused(503, "TooMany", message, {"Retry-After": "1"}) from error
            except TooCostlyError as error:
                raise Refused(413, "TooCostly", str(error)) from error
        if not (objects or problems or deleted):
            raise Refused(400, "InvalidInput", "nothing to analyze: send manifests, as YAML or JSON, or ?delete=OBJECT")
        going = await deleted_keys(engine, deleted)
        pruned = [prune(obj) for obj in objects]
        change = await plan_change(engine, pruned, going)
        before, after = await doubts_of_change(
            engine,
            change,
            {key_of(obj) for obj in pruned},
            lambda keys: [doubt for doubt in doubts if str(doubt[0]) in keys],
        )
        found = await analyze(engine, change, doubts_before=before, doubts_after=after, for_page=True)
        mistakes: list[dict[str, Any]] = []
        for problem in problems:
            line = problem.subject.rpartition(":")[2]
            mistakes.append({"line": int(line) if line.isdecimal() else 1, "message": problem.message})
        return answer({**found.document(), "mistakes": mistakes, "outcomes": found.outcomes})


MOST_TARGETS = 100
_KNOWN = ("target", "policyKind", "sourceNamespace", "namespace", "watch")
_YES = {"true": True, "1": True, "": False, "false": False, "0": False}


@dataclass(slots=True)
class EffectiveStream:
    """Answers from the OPA of `backing`, and streams changes from `following`."""

    backing: PresentBacking
    following: Following
    streams: Streams

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Return effective policies at `target`s, as in the query result; with `watch=true` as server-sent events."""
        parameters = request.query
        if unknown := sorted(parameters.keys() - set(_KNOWN)):
            raise Refused(400, "InvalidInput", f"unknown parameter {unknown[0]!r}; known: {', '.join(_KNOWN)}")
        texts = parameters.getall("target", [])
        if not texts or len(texts) > MOST_TARGETS:
            raise Refused(400, "InvalidInput", f"give 1 to {MOST_TARGETS} targets: ?target=KIND/NAMESPACE/NAME")
        watch = _YES.get(parameters.get("watch", ""))
        if watch is None:
            raise Refused(400, "InvalidInput", "watch must be true or false")
        opa, source = self.backing.opa(), parameters.get("sourceNamespace") or None
        kind = await policy_kind(opa, parameters["policyKind"]) if parameters.get("policyKind") else None
        targets = await target_keys(opa, texts, parameters.get("namespace") or None)
        revision = self.following.revision
        if not watch or not self.following.knows(targets, kind, source):
            await require_namespace(opa, source)
            found = await effective_at(opa, targets, kind, source)  # also reports a missing section
        if not watch:
            return answer({"revision": revision, "effective": found})
        return await self._watch(request, targets, kind, source)

    async def _watch(
        self, request: web.Request, targets: Sequence[Key], kind: str | None, source: str | None
    ) -> web.StreamResponse:
        with self.following.following(targets, kind, source, request.remote or "") as (reader, followed):
            return await self.streams.send(request, self._events(reader, followed))

    async def _events(self, reader: Reader, followed: Sequence[Followed]) -> AsyncIterator[Event]:
        state: Any = None
        synced = False
        while True:
            reasons = {name: why for name, why in self.backing.checks().items() if why}
            present = {"ready": not reasons, "reasons": reasons}
            if present != state:
                state = present
                yield Event("state", state)
            if not synced and all(one.current for one in followed):
                synced = True
                # Changes before this are among the entries, later ones among the differences.
                reader.differing.clear()
                revision = self.following.settled
                for place in sorted({place for one in followed for place in one.entries}):
                    yield self._event(place, followed, revision)
                yield Event("synced", {"revision": revision}, revision)
            if synced and reader.differing:
                places, reader.differing = list(reader.differing), {}
                revision = self.following.settled
                for place in places:
                    yield self._event(place, followed, revision)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await reader.wake.wait()
            reader.wake.clear()

    def _event(self, place: tuple[str, str], followed: Sequence[Followed], revision: str) -> Event:
        entry = next((one.entries[place] for one in followed if place in one.entries), None)
        target, kind = place
        data = {"revision": revision, "target": target, "policyKind": kind, "paths": entry["paths"] if entry else []}
        return Event("effective", data, revision)
