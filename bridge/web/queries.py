"""`POST /api/query/<name>`: queries of the contract; `POST /api/changes`: the effects of pasted manifests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.opa.client import Opa
from bridge.queries.analysis import analyze, held_crds, read_pasted
from bridge.queries.asking import target_keys
from bridge.web.responses import answer, body_of, decoded

# Queries for people and programs. None of them writes.
ALLOWED = frozenset({
    "differences",
    "effective",
    "explain",
    "impact",
    "kinds_in_force",
    "names",
    "problems",
    "request",
    "scopes",
    "status",
    "tree",
    "types",
    "violations",
})  # fmt: skip
MOST_INPUT = 4 << 20  # bytes of a body: `changes` may contain many objects


class Queries:
    """Passes allowed queries on. `opa` returns the OPA to query, and raises Refused while there is none."""

    def __init__(self, opa: Callable[[], Opa]) -> None:
        self._opa = opa

    async def post(self, request: web.Request) -> web.Response:
        """Answer one query: the body is its input, as for OPA's data API (`{"input": {…}}`)."""
        name = request.match_info["name"]
        if name not in ALLOWED:
            raise Refused(404, "UnknownQuery", f"there is no query {name!r}; these are: {', '.join(sorted(ALLOWED))}")
        asked = decoded(await body_of(request, MOST_INPUT)).get("input", {})
        return answer({"result": await self._opa().query(name, asked)})


MOST_MANIFESTS = 4 << 20  # bytes of manifests


class Changes:
    """Analyzes manifests. `opa` returns the OPA to query, and raises Refused while there is none."""

    def __init__(self, opa: Callable[[], Opa]) -> None:
        self._opa = opa

    async def post(self, request: web.Request) -> web.Response:
        """Analyze the manifests in the body, YAML or JSON; `?delete=OBJECT`, which may be repeated, adds deletions.

        All mistakes are reported: documents without mistakes count in any case, as in `bridge analyze`.
        """
        opa = self._opa()
        content = await body_of(request, MOST_MANIFESTS)
        deleted = request.query.getall("delete", [])
        if not content.strip() and not deleted:
            raise Refused(400, "InvalidInput", "nothing to analyze: send manifests, as YAML or JSON, or ?delete=OBJECT")
        applied = await asyncio.to_thread(read_pasted, content, await held_crds(opa))
        going = await target_keys(opa, deleted, None) if deleted else []
        found = await analyze(opa, applied.objects, going)
        mistakes: list[dict[str, Any]] = []
        for problem in applied.problems:
            line = problem.subject.rpartition(":")[2]
            mistakes.append({"line": int(line) if line.isdigit() else 1, "message": problem.message})
        return answer({**found.document(), "mistakes": mistakes})
