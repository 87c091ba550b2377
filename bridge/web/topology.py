"""`/api/topology` and `/api/stream`: the hierarchy with its policies, and what changes of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from aiohttp import web

from bridge.answers.trees import tree_below
from bridge.model.keys import parse_key
from bridge.model.notice import Notice
from bridge.opa.client import Opa
from bridge.web.answering import answer
from bridge.web.events import Event, send

_LOOK = 0.5  # seconds between two looks at the state


class Topology:
    """Answers with the whole picture."""

    def __init__(self, opa: Callable[[], Opa]) -> None:
        self.checks: Callable[[], Mapping[str, str]] = lambda: {"bridge": "the bridge is starting"}
        self._opa = opa
        self._epoch = secrets.token_hex(4)
        self._revision = 0
        self._changed = asyncio.Condition()

    def note(self, _: Notice) -> None:
        """A listener of the replicator."""
        self._revision += 1

    async def get(self, _: web.Request) -> web.Response:
        """The picture of now."""
        revision = self._revision
        opa = self._opa()
        tree = await tree_below(opa, None)
        problems: dict[str, list[Any]] = {}
        for problem in await opa.query("problems", {}):
            problems.setdefault(problem["subject"], []).append(problem)
        parents: dict[str, list[str]] = {}
        for key, node in tree.found["nodes"].items():
            for child in node["children"]:
                parents.setdefault(child, []).append(key)
        nodes = {
            key: _node(key, node, parents.get(key, []), problems.get(key, []))
            for key, node in tree.found["nodes"].items()
        }
        policies = {}
        for node in tree.found["nodes"].values():
            for told in node["policies"]:
                name = told["policy"]
                policies[name] = {
                    "policyKind": told["policyKind"],
                    "outcomes": tree.outcomes.get(name, []),
                    "problems": problems.get(name, []),
                }
        return answer({
            "revision": f"{self._epoch}-{revision}",
            "total": len(nodes),
            "nodes": nodes,
            "policies": policies,
            "refused": [],
        })  # fmt: skip

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """The state and what changes, as server-sent events."""
        return await send(request, self._events())

    async def _events(self) -> AsyncIterator[Event]:
        state: Any = None
        revision = -1
        while True:
            checks = {name: why for name, why in self.checks().items() if why}
            if checks != state:
                state = checks
                yield Event("state", {"ready": not checks, "reasons": checks})
            if revision != self._revision:
                revision = self._revision
                name = f"{self._epoch}-{revision}"
                yield Event("topology", {"revision": name, "reload": True}, name)
            await asyncio.sleep(_LOOK)


def _node(key: str, node: dict[str, Any], parents: list[str], problems: list[Any]) -> dict[str, Any]:
    parts = parse_key(key)
    return {
        "level": node["level"],
        "group": parts.group,
        "kind": parts.kind,
        "namespace": parts.namespace,
        "name": parts.name,
        "section": parts.section,
        "role": parts.role,
        "parents": parents,
        "children": len(node["children"]),
        "policies": node["policies"],
        "problems": problems,
    }
