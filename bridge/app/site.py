"""What may be served beside the bundle and the probes, and what it gets of the bridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from bridge.http.request_guard import WrongTokens
from bridge.model.notice import Listener
from bridge.opa.client import Opa
from bridge.remediator.statuses.remediator import Remediator


@dataclass(frozen=True, slots=True)
class Backing:
    """A bridge that works: the OPA that it fills, and what becomes of that.

    `readers` is a client for the queries of the page's readers: expensive ones wait for each other and do not delay
    the following of changes. `listen` takes who is told of each write to OPA; `remediator` counts what became of
    policies; `checks` gives by name what keeps the bridge from being ready.
    """

    opa: Opa
    readers: Opa
    listen: Callable[[Listener], None]
    remediator: Remediator
    checks: Callable[[], Mapping[str, str]]


class Site(Protocol):
    """Routes that are served from the beginning, before there is an OPA."""

    wrong_tokens: WrongTokens

    def add_to(self, app: web.Application) -> None:
        """Route everything."""

    def open(self, backing: Backing) -> None:
        """OPA is there."""

    async def run(self) -> None:
        """Work until cancelled."""


class NoSite:
    """Nothing besides."""

    def __init__(self) -> None:
        self.wrong_tokens = WrongTokens("page")

    def add_to(self, app: web.Application) -> None:
        """No routes."""

    def open(self, backing: Backing) -> None:
        """Nothing to do with it."""

    async def run(self) -> None:
        """Nothing to do."""
