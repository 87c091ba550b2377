"""Wrong tokens: counted, and logged by peer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from bridge.http.request_guard import LOGGED_EVERY, LOGGED_PEERS, WrongTokens

if TYPE_CHECKING:
    from aiohttp import web


class Clock:
    """A clock that stands still."""

    now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _from(peer: str) -> web.Request:
    return cast("web.Request", SimpleNamespace(remote=peer, path="/data"))


def test_a_flood_is_logged_in_few_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = WrongTokens("page", clock)
    for number in range(1000):
        wrong.refusal(_from(f"10.0.{number // 250}.{number % 250}"), "wrong token")
        wrong.refusal(_from("10.1.0.0"), "wrong token")
    assert capsys.readouterr().out.count("wrong token") == LOGGED_PEERS
    assert wrong.total == 2000
    clock.now += LOGGED_EVERY
    wrong.refusal(_from("10.1.0.0"), "wrong token")
    assert capsys.readouterr().out.count("wrong token") == 1
