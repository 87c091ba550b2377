"""The interface for parts that are served together with the bundle and the probes, and the services that they get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from bridge.http.request_guard import WrongTokens
from bridge.model.changes import Listener
from bridge.opa.client import Opa
from bridge.remediator.remediator import Remediator


@dataclass(frozen=True, slots=True)
class Backing:
    """A working bridge: the OPA that it syncs, and its results.

    `readers` is a client for the queries of the page's readers: expensive ones wait for each other and do not delay the
    following of changes. `listen` adds a listener for writes to OPA; `remediator` counts the outcomes of policies;
    `checks` returns by name why the bridge is not ready.
    """

    opa: Opa
    readers: Opa
    listen: Callable[[Listener], None]
    remediator: Remediator
    checks: Callable[[], Mapping[str, str]]


class Site(Protocol):
    """Routes that are served from the beginning, before OPA is running."""

    wrong_tokens: WrongTokens

    def add_to(self, app: web.Application) -> None:
        """Add all routes."""

    def open(self, backing: Backing) -> None:
        """Called when OPA is running."""

    async def run(self) -> None:
        """Work until cancelled."""
