"""`POST /api/query/<name>`: queries of the contract, passed to OPA unchanged."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.opa.client import Opa
from bridge.web.answering import answer, body_of, decoded

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
MOST = 4 << 20  # bytes of a body: `changes` may contain many objects


class Queries:
    """Passes allowed queries on. `opa` returns the OPA to query, and raises Refused while there is none."""

    def __init__(self, opa: Callable[[], Opa]) -> None:
        self._opa = opa

    async def post(self, request: web.Request) -> web.Response:
        """Answer one query: the body is its input, as for OPA's data API (`{"input": {…}}`)."""
        name = request.match_info["name"]
        if name not in ALLOWED:
            raise Refused(404, "UnknownQuery", f"there is no query {name!r}; these are: {', '.join(sorted(ALLOWED))}")
        asked = decoded(await body_of(request, MOST)).get("input", {})
        return answer({"result": await self._opa().query(name, asked)})
