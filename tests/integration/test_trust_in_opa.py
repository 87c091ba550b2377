"""What OPA answers counts no longer than it is known to hold everything and to answer."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from bridge.replicator import replicator, writer
from tests.builders import service
from tests.eventually import eventually
from tests.freezing import freeze
from tests.integration.faulty_opa import FaultyOpa
from tests.integration.test_replicator import bridge
from tests.processes import opa_below
from tests.warm_opa import WarmOpa

Passing = Callable[[], Awaitable[web.Response]]
MINUTES = 600.0  # seconds: no request times out
PATIENCE = 120.0  # seconds


async def test_opa_is_not_trusted_from_a_sign_of_a_restart_until_it_is_checked(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PROBE", 3600.0)
    monkeypatch.setattr(writer, "SLOW", 3600.0)
    held = asyncio.Event()

    async def hold(_: web.Request, pass_on: Passing) -> web.StreamResponse:
        await held.wait()
        return await pass_on()

    async with bridge(faulty.url, [service("a")], timeout=MINUTES) as one:
        await one.filled()
        await eventually(lambda: not one.replicator.unready)
        faulty.fault = hold
        patches = len(faulty.patches)
        one.replicator.doubt()
        assert "may have been restarted" in one.replicator.unready
        await eventually(lambda: len(faulty.patches) > patches)
        assert "may have been restarted" in one.replicator.unready
        assert one.replicator.filled.is_set()
        held.set()
        await eventually(lambda: not one.replicator.unready)
        assert not any(notice.refilling for notice in one.notices.seen)


async def test_an_opa_that_freezes_while_it_is_queried_is_not_ready_long_before_the_question_is_given_up(
    opa: WarmOpa, faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PROBE", 3600.0)
    frozen = opa_below(opa.pid)
    assert frozen is not None

    async def freeze_first(_: web.Request, pass_on: Passing) -> web.StreamResponse:
        faulty.question_fault = None
        freeze(frozen)
        return await pass_on()

    async with bridge(faulty.url, [service("a")], timeout=MINUTES) as one:
        await one.filled()
        faulty.question_fault = freeze_first
        one.source.put(service("b"))
        try:
            await eventually(lambda: bool(one.replicator.unready), patience=PATIENCE)
        finally:
            os.kill(frozen, signal.SIGCONT)
        await one.notices.until_written()
        await eventually(lambda: not one.replicator.unready)
        assert not any(notice.refilling for notice in one.notices.seen)


async def test_an_opa_that_takes_long_over_a_question_and_answers_others_stays_ready(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PROBE", 3600.0)
    monkeypatch.setattr(writer, "LOOK", 0.1)
    monkeypatch.setattr(writer, "SLOW", 2.1)
    answered = asyncio.Event()

    async def think(_: web.Request, pass_on: Passing) -> web.StreamResponse:
        faulty.question_fault = None
        await asyncio.sleep(3)
        answered.set()
        return await pass_on()

    async with bridge(faulty.url, [service("a")], timeout=MINUTES) as one:
        await one.filled()
        await eventually(lambda: not one.replicator.unready)
        faulty.question_fault = think
        one.source.put(service("b"))
        while not answered.is_set():
            assert not one.replicator.unready
            await asyncio.sleep(0.02)
        await one.notices.until_written()
