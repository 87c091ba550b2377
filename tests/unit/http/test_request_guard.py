"""Wrong tokens: counted, logged and slowed by peer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from bridge.http.request_guard import BURST, EVERY, LOGGED_EVERY, LOGGED_PEERS, WrongTokens

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


def _status(wrong: WrongTokens, peer: str) -> int:
    return wrong.refusal(_from(peer), "wrong token").status


def test_a_peer_may_err_a_few_times_and_then_once_in_a_while(clock: Clock) -> None:
    wrong = WrongTokens("page", clock)
    assert [_status(wrong, "10.0.0.1") for _ in range(BURST + 2)] == [401] * BURST + [429] * 2
    assert _status(wrong, "10.0.0.2") == 401
    clock.now += EVERY
    assert [_status(wrong, "10.0.0.1") for _ in range(2)] == [401, 429]
    clock.now += BURST * EVERY
    assert _status(wrong, "10.0.0.1") == 401


def test_addresses_of_one_network_of_ipv6_are_one_peer(clock: Clock) -> None:
    wrong = WrongTokens("page", clock)
    for number in range(BURST):
        _status(wrong, f"2001:db8::{number}")
    assert _status(wrong, "2001:db8::ffff") == 429
    assert _status(wrong, "2001:db8:0:1::1") == 401
    for _ in range(BURST):
        _status(wrong, "::ffff:10.0.0.1")
    assert _status(wrong, "10.0.0.1") == 429


def test_a_flood_is_logged_in_few_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = WrongTokens("page", clock)
    for number in range(1000):
        _status(wrong, f"10.0.{number // 250}.{number % 250}")
        _status(wrong, "10.1.0.0")
    assert capsys.readouterr().out.count("wrong token") == LOGGED_PEERS
    assert wrong.total == 2000
    clock.now += LOGGED_EVERY
    _status(wrong, "10.1.0.0")
    assert capsys.readouterr().out.count("wrong token") == 1


def test_what_is_remembered_of_peers_is_bounded(clock: Clock) -> None:
    wrong = WrongTokens("page", clock)
    for number in range(5_000):
        _status(wrong, f"10.{number // 62500}.{number // 250 % 250}.{number % 250}")
    assert len(wrong._debts) <= 4096
