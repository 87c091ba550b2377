"""Settings and fixtures of all tests."""

import gc
import os
import tempfile
import time
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from hack.tools import find
from hack.web import chromium

pytest_plugins = ["tests.controlplane.fixtures"]

# A deadline would measure how busy the machine is.
settings.register_profile("policy-bridge", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=5_000)
settings.load_profile("policy-bridge")

# Credentials for bundles that a bridge keeps for its user: the tests have their own.
_STATE = tempfile.TemporaryDirectory(prefix="policy-bridge-tests-")
os.environ["XDG_STATE_HOME"] = _STATE.name
# Servers and tools written in Go collect garbage less often, for some more memory: OPA starts in 0.7 of the processor
# time (0.58 instead of 0.80 s).
os.environ.setdefault("GOGC", "400")


# The files that take longest, by the beginning of their paths: a worker that begins with one at the end works alone.
# The many short files of tests/unit come last, so the workers end at about the same time.
LONGEST = (
    "tests/scenarios/test_scenarios_on_cluster.py",
    "tests/e2e/test_documented_output.py",
    "tests/integration/test_admission.py",
    "tests/scenarios/",
    "tests/properties/",
    "tests/deploy/",
    "tests/web/",
)
# Of the long tests, those that take many minutes for one fact: where the time is bounded, all others have run before.
LAST = (
    "tests/properties/",
    "tests/faults/",
    "tests/journeys/",
    "tests/fuzz/",
    "tests/soak/",
    "tests/e2e/test_against_egctl.py",
    "tests/e2e/test_against_envoy.py",
    "tests/e2e/test_against_istio.py",
    "tests/e2e/test_verify_against_istio.py",
    "tests/integration/tools/",
)
BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which continuous integration bounds the time of the long tests."""
    parser.addoption("--minutes", type=float, help="skip every test that would begin after so many minutes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, and end with the longest tests."""

    def rank(item: pytest.Item) -> int:
        if item.get_closest_marker("long") and item.nodeid.startswith(LAST):
            return len(LONGEST) + 1 + _place(item, LAST)
        return _place(item, LONGEST)

    items.sort(key=rank)


def _place(item: pytest.Item, paths: tuple[str, ...]) -> int:
    return next((place for place, path in enumerate(paths) if item.nodeid.startswith(path)), len(paths))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose tool is missing, and a test for which no time is left."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - BEGAN > minutes * 60:
        pytest.skip(f"{minutes:g} minutes are over")
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            if tool == "chromium":
                if chromium.find() is None and not chromium.REQUIRED:
                    pytest.skip(chromium.HOW)
            elif find(tool) is None:
                pytest.skip(f"{tool} is missing: `make setup-test-long` gets it")


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    """Undo what a command or a sync in the tests' own process leaves: configuration of logs, and frozen objects.

    With frozen objects the next one would begin with a collection of everything, for a third of a second.
    """
    yield
    structlog.reset_defaults()
    gc.unfreeze()
