"""What all tests share."""

import os
import tempfile
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# A deadline would measure how busy the machine is.
settings.register_profile("policy-bridge", deadline=None)
settings.load_profile("policy-bridge")

# Credentials for bundles that a bridge keeps for its user: the tests have their own.
_STATE = tempfile.TemporaryDirectory(prefix="policy-bridge-tests-")
os.environ["XDG_STATE_HOME"] = _STATE.name


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """A command that runs in the tests' own process says what is logged, of which the next test knows nothing."""
    yield
    structlog.reset_defaults()
