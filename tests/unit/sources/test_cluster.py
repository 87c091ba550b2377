"""When discovery is repeated; what a cluster delivers is tested against a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from bridge.kube.kube_client import KubeAccess, KubeClient
from bridge.kube.kube_errors import Unreachable
from bridge.sources.cluster import ClusterSource
from bridge.work import beside

pytestmark = pytest.mark.fake_time

THING = "example.com/Thing"
OTHER = "example.com/Other"


class Client(KubeClient):
    """A client of an API server whose discovery gives `version`, and that delivers no objects."""

    def __init__(self) -> None:
        super().__init__(KubeAccess(SimpleNamespace(host="https://localhost"), "a test", None))
        self.version = "v1"
        self.names = [("things", "Thing"), ("others", "Other")]

    async def request(self, method: str, path: str, **_: Any) -> bytes:
        """Discovery has one group with two types. The server is ready, and does not list."""
        if path not in {"/readyz", "/api", "/apis"}:
            raise Unreachable(f"no response to {method} {path}")
        resources = [
            {"resource": plural, "responseKind": {"kind": kind}, "scope": "Cluster", "verbs": ["list", "watch"]}
            for plural, kind in self.names
        ]
        versions = [{"version": self.version, "resources": resources}]
        groups = [{"metadata": {"name": "example.com"}, "versions": versions}] if path == "/apis" else []
        return msgspec.json.encode({"kind": "APIGroupDiscoveryList", "items": groups})

    def stream(self, path: str, *_: Any, **__: Any) -> Any:
        """It does not watch."""
        raise Unreachable(f"no response to {path}")


async def test_a_new_version_is_found_although_other_types_are_requested_while_discovery_is_late() -> None:
    client = Client()
    async with _following(client) as source:
        source.rediscover()  # a CRD has changed, and discovery is late
        await asyncio.sleep(0.1)
        source.want({THING, OTHER})
        await asyncio.sleep(0.4)
        client.version = "v2"
        await asyncio.sleep(10)
    found = source.resource(THING)
    assert (found.version if found else "") == "v2"


async def test_a_followed_type_that_discovery_lacks_for_a_while_is_still_served() -> None:
    """An API server that has just started lists custom resources late; nothing discovers again what is followed."""
    client = Client()
    async with _following(client) as source:
        client.names = []
        source.rediscover()
        await asyncio.sleep(60)
        assert source.resource(THING) is not None


@asynccontextmanager
async def _following(client: Client) -> AsyncIterator[ClusterSource]:
    """A source that has followed one type for a while."""
    source = ClusterSource(client)
    source.want({THING})
    async with aclosing(source.changes()) as changes, beside(_read(changes)):  # type: ignore[type-var]
        await asyncio.sleep(10)
        yield source


async def _read(changes: Any) -> None:
    async for _ in changes:
        pass
