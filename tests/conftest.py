"""Settings and fixtures of all tests."""

import gc
import os
import tempfile
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# A deadline would measure how busy the machine is.
settings.register_profile("policy-bridge", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile("policy-bridge")

# Credentials for bundles that a bridge keeps for its user: the tests have their own.
_STATE = tempfile.TemporaryDirectory(prefix="policy-bridge-tests-")
os.environ["XDG_STATE_HOME"] = _STATE.name
# Servers and tools written in Go collect garbage less often, for some more memory: OPA starts in 0.7 of the processor
# time (0.58 instead of 0.80 s).
os.environ.setdefault("GOGC", "400")


# The files that take longest, by the beginning of their paths. A worker that begins with one at the end works alone.
LONGEST = (
    "tests/scenarios/test_cluster.py",
    "tests/e2e/test_documented_output.py",
    "tests/properties/test_against_the_reference.py",
    "tests/properties/test_merge_laws.py",
    "tests/integration/test_policies_on_a_cluster.py",
    "tests/e2e/test_what_if_commands.py",
    "tests/e2e/test_read_commands.py",
    "tests/deploy/",
    "tests/scenarios/",
    "tests/web/",
)  # the many short files of tests/unit come last, so both workers end at about the same time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files."""

    def rank(item: pytest.Item) -> int:
        return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    """Undo what a command or a sync in the tests' own process leaves: configuration of logs, and frozen objects.

    With frozen objects the next one would begin with a collection of everything, for a third of a second.
    """
    yield
    structlog.reset_defaults()
    gc.unfreeze()
