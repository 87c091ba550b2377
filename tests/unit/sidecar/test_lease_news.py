from typing import cast

from structlog.testing import capture_logs

from bridge.kube.lease import Lease
from bridge.sidecar.store import LeaseNews


class Standing:
    """The interface of a Lease that the news use."""

    namespace, name, identity = "default", "policy-bridge", "this"

    def __init__(self) -> None:
        self.held = False
        self.holder = ""
        self.trouble: str | None = None


def test_a_lease_that_is_lost_in_a_trouble_is_reported_as_lost() -> None:
    lease, news = Standing(), LeaseNews()
    reported = []
    for held, trouble in ((True, None), (True, "refused"), (False, "refused"), (True, None), (False, None)):
        lease.held, lease.trouble = held, trouble
        with capture_logs() as logs:
            news(cast("Lease", lease))
        reported += [entry["event"] for entry in logs]
    taken, troubled, lost = "status writes started", "Lease acquisition failed", "status writes stopped"
    assert reported == [taken, troubled, lost, taken, lost]


def test_a_lease_that_never_was_held_is_not_reported_as_lost() -> None:
    lease, news = Standing(), LeaseNews()
    lease.trouble = "forbidden"
    with capture_logs() as logs:
        news(cast("Lease", lease))
        news(cast("Lease", lease))
    assert [entry["event"] for entry in logs] == ["Lease acquisition failed"]


def test_another_holder_is_reported_once_and_a_bridge_that_waits_is_not_reported_as_one_that_lost() -> None:
    lease, news = Standing(), LeaseNews()
    reported = []
    for holder in ("other", "other", "third", "", "third"):
        lease.holder = holder
        with capture_logs() as logs:
            news(cast("Lease", lease))
        reported += [(entry["event"], entry["holder"]) for entry in logs]
    waits = "Lease held by another bridge"
    assert reported == [(waits, "other"), (waits, "third"), (waits, "third")]
