import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bridge.admission.admission import Undecided, insist
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable


def asking(*outcomes: Any) -> tuple[Callable[[], Awaitable[str]], list[float]]:
    """A question with these outcomes in turn, the last one again and again; and when it was requested."""
    left = list(outcomes)
    requested: list[float] = []

    async def ask() -> str:
        requested.append(asyncio.get_running_loop().time())
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        if outcome == "never":
            await asyncio.sleep(3600)
        return str(outcome)

    return ask, requested


@pytest.mark.parametrize(
    "passing",
    [
        OpaUnavailable("gone"),
        OpaRejected(429, "", "busy"),
        OpaRejected(503, "", "away"),
        Undecided("not yet", passing=True),
        "never",
    ],
)
async def test_a_query_with_a_passing_error_is_sent_again(passing: Any) -> None:
    ask, requested = asking(passing, "yes")
    assert await insist(ask, 2.5) == "yes"
    assert len(requested) == 2


@pytest.mark.parametrize(
    ("lasting", "said"),
    [
        (OpaRejected(500, "internal_error", "conflict"), "conflict"),
        (OpaRejected(401, "", "who?"), "does not accept the bridge's token"),
        (OpaError("what answers there is no OPA"), "no OPA"),
        (Undecided("undefined"), "undefined"),
    ],
)
async def test_a_query_with_a_lasting_error_is_sent_once(lasting: Exception, said: str) -> None:
    ask, requested = asking(lasting)
    with pytest.raises(Undecided, match=said):
        await insist(ask, 60)
    assert len(requested) == 1


async def test_no_client_is_queried_beyond_the_time_that_there_is() -> None:
    ask, requested = asking(OpaUnavailable("gone"))
    began = asyncio.get_running_loop().time()
    with pytest.raises(Undecided, match="gone"):
        await insist(ask, 0.5)
    assert asyncio.get_running_loop().time() - began < 5
    assert len(requested) > 1
    with pytest.raises(Undecided, match="did not respond in time"):
        await insist(asking("never")[0], 0.2)


async def test_a_retry_after_is_heeded() -> None:
    ask, requested = asking(OpaRejected(429, "", "busy", retry_after=1), "yes")
    assert await insist(ask, 10) == "yes"
    assert requested[1] - requested[0] >= 1
    ask, requested = asking(OpaRejected(429, "", "busy", retry_after=60))
    with pytest.raises(Undecided, match="busy"):
        await insist(ask, 10)
    assert len(requested) == 1
