"""What the tests against a real OPA and a real API server share."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.resources import rego_root
from tests.integration.faulty_opa import FaultyOpa


@pytest.fixture
def unused_port() -> int:
    """A loopback port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    """An OPA with the shipped Rego."""
    async with ManagedOpa(opa_path, {}, bundle=shipped_bundle(rego_root())) as managed:
        yield managed


@pytest.fixture
async def faulty(opa: ManagedOpa) -> AsyncIterator[FaultyOpa]:
    """The proxy before it, which fails as a test configures."""
    async with FaultyOpa(opa.url).serving() as proxy:
        yield proxy
