"""What the tests against a real OPA and a real API server share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.opa.process import ManagedOpa
from tests.integration.faulty_opa import FaultyOpa
from tests.warm_opa import WarmOpa, sync_bundle


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[WarmOpa]:
    """An OPA with the shipped Rego, which a test does not stop."""
    async with WarmOpa(opa_path) as warm:
        yield warm


@pytest.fixture
async def cold_opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    """An OPA with what a replicator queries, for a test that stops it."""
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed:
        yield managed


@pytest.fixture
async def faulty(opa: WarmOpa) -> AsyncIterator[FaultyOpa]:
    """The proxy before it, which fails as a test configures."""
    async with FaultyOpa(opa.url).serving() as proxy:
        yield proxy
