"""What the tests against a real OPA and a real API server share."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def unused_port() -> int:
    """A loopback port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
