"""`POST /api/changes`: the effects of applying pasted manifests, in the form of `bridge analyze`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.opa.client import Opa
from bridge.queries.analysis import analyze
from bridge.queries.applying import held_crds, read_pasted
from bridge.queries.asking import target_keys
from bridge.web.answering import answer, body_of

MOST = 4 << 20  # bytes of manifests


class Changes:
    """Analyzes manifests. `opa` returns the OPA to query, and raises Refused while there is none."""

    def __init__(self, opa: Callable[[], Opa]) -> None:
        self._opa = opa

    async def post(self, request: web.Request) -> web.Response:
        """Analyze the manifests in the body, YAML or JSON; `?delete=OBJECT`, which may be repeated, adds deletions.

        All mistakes are reported: documents without mistakes count in any case, as in `bridge analyze`.
        """
        opa = self._opa()
        content = await body_of(request, MOST)
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
