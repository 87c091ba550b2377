"""Which of OPA's reports about a bundle are about the served one: OPA reports an error until another request succeeds.

The order of OPA's requests and activations and of the bridge's looks is scripted here: with a real OPA it is a matter
of chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from bridge.opa.bundle import Bundle
from bridge.opa.client import BundleStatus
from bridge.opa.errors import OpaError
from bridge.policy_loader.loader import Activation, BundleRefused

if TYPE_CHECKING:
    from bridge.opa.client import Opa

FIRST, SECOND = Bundle({}, "first", ()), Bundle({}, "second", ())
OLD_ERROR, NEW_ERROR = "first.rego:1: conflicting rule", "second.rego:1: conflicting rule"


class ScriptedOpa:
    """An OPA whose status the test sets, and the endpoint that hands it bundles."""

    def __init__(self) -> None:
        self.handed_revision = ""
        self.status = BundleStatus("bridge", "base", "10:00:00", last_successful_request="10:00:00")

    async def bundle_status(self) -> BundleStatus:
        """Return the status of this moment."""
        return self.status

    async def serve_next(self, bundle: Bundle) -> None:
        """Keep the test in charge of what OPA gets, and when."""

    def request(self, bundle: Bundle, time: str) -> None:
        """Hand the bundle to OPA, which notes the time before it activates the bundle: its error is the former one."""
        self.handed_revision = bundle.revision
        self._note("base", time, self.status.code, self.status.message)

    def reject(self, message: str) -> None:
        """Report an error of the last bundle."""
        self._note("base", self.status.last_request, "bundle_error", message)

    def lose(self, time: str, message: str) -> None:
        """Report that a response did not arrive."""
        before = self.status.last_successful_request
        self.status = BundleStatus("bridge", "base", time, "bundle_error", message, last_successful_request=before)

    def activate(self, bundle: Bundle) -> None:
        """Report a bundle as active."""
        self._note(bundle.revision, self.status.last_request)

    def _note(self, active: str, time: str, code: str = "", message: str = "") -> None:
        self.status = BundleStatus("bridge", active, time, code, message, last_successful_request=time)


@pytest.fixture
def opa() -> ScriptedOpa:
    return ScriptedOpa()


@pytest.fixture
def activation(opa: ScriptedOpa) -> Activation:
    return Activation(cast("Opa", opa), opa)


async def reject_first(opa: ScriptedOpa, activation: Activation) -> None:
    """Serve a bundle that OPA rejects, then the second one."""
    await activation.serve(FIRST)
    opa.request(FIRST, "10:00:01")
    opa.reject(OLD_ERROR)
    with pytest.raises(BundleRefused, match=OLD_ERROR):
        await activation.find_active()
    await activation.serve(SECOND)


async def test_error_of_a_bundle_is_not_taken_for_one_of_its_successor(
    opa: ScriptedOpa, activation: Activation
) -> None:
    await reject_first(opa, activation)
    opa.request(FIRST, "10:00:02")  # it was on its way while the second one took its place
    opa.reject(OLD_ERROR)
    opa.handed_revision = SECOND.revision  # OPA reads the answer
    assert await activation.find_active() == "base"
    opa.request(SECOND, "10:00:03")
    assert await activation.find_active() == "base"  # OPA activates the second one, and reports the first one's error
    opa.activate(SECOND)
    assert await activation.find_active() == "second"


async def test_bundle_that_is_rejected_after_another_is_reported_with_its_own_error(
    opa: ScriptedOpa, activation: Activation
) -> None:
    await reject_first(opa, activation)
    for time in ("10:00:02", "10:00:03"):
        opa.request(SECOND, time)
        assert await activation.find_active() == "base"
        opa.reject(NEW_ERROR)
    opa.request(SECOND, "10:00:04")
    with pytest.raises(BundleRefused, match=NEW_ERROR):
        await activation.find_active()


async def test_bundle_is_not_taken_for_one_that_opa_gets_and_has_no_result_of(
    opa: ScriptedOpa, activation: Activation
) -> None:
    await activation.serve(FIRST)
    opa.request(FIRST, "10:00:01")
    await activation.serve(SECOND)
    opa.reject(OLD_ERROR)
    opa.handed_revision = SECOND.revision
    assert await activation.find_active() == "base"
    opa.request(SECOND, "10:00:02")
    assert await activation.find_active() == "base"
    opa.activate(SECOND)
    assert await activation.find_active() == "second"


async def test_response_that_does_not_arrive_is_no_rejection(opa: ScriptedOpa, activation: Activation) -> None:
    await activation.serve(FIRST)
    opa.request(FIRST, "10:00:01")
    opa.lose("10:00:02", "bundle read failed: unexpected EOF")
    for _ in range(4):
        with pytest.raises(OpaError, match="OPA cannot download the bundle: bundle read failed: unexpected EOF"):
            await activation.find_active()
    opa.request(FIRST, "10:00:03")
    opa.activate(FIRST)
    assert await activation.find_active() == "first"
