"""What all tests share."""

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# A deadline would measure how busy the machine is.
settings.register_profile("policy-bridge", deadline=None)
settings.load_profile("policy-bridge")


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """A command that runs in the tests' own process says what is logged, of which the next test knows nothing."""
    yield
    structlog.reset_defaults()
