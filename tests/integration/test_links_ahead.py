"""Links that an initial sync queries ahead of the writes that need them: all, no others, and none is kept for long."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.model.changes import Listed, Listing, Object, Upserted
from bridge.model.keys import Key
from bridge.replicator import intake, links, replicator
from bridge.replicator.documents import Known
from bridge.replicator.links import Linking
from bridge.replicator.writer import Writer
from tests.eventually import eventually
from tests.integration.scripted import ScriptedSource
from tests.integration.test_replicator import bridge, route
from tests.warm_opa import WarmOpa

ROUTE = "gateway.networking.k8s.io/HTTPRoute"
BATCH = 50


@pytest.fixture
async def url(opa_path: Path) -> AsyncIterator[str]:
    async with WarmOpa(opa_path) as managed:
        yield managed.url


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, pieces and the window have the proportions that they have, and are small."""
    monkeypatch.setattr(links, "BATCH", BATCH)
    monkeypatch.setattr(links, "FAR", 8 * BATCH)
    monkeypatch.setattr(intake, "BATCH", BATCH)
    monkeypatch.setattr(replicator, "PIECE", 6 * BATCH)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each write the number of objects whose links were not requested before it."""
    counts: list[int] = []
    of = Linking.query

    async def counting(self: Linking, objects: Mapping[Key, Object], *known: Any) -> Any:
        counts.append(len(objects.keys() - self._ahead.keys()))
        return await of(self, objects, *known)

    monkeypatch.setattr(Linking, "query", counting)
    return counts


def routes(count: int) -> Iterator[Object]:
    return (route(f"r{number}", "cart") for number in range(count))


@pytest.mark.usefixtures("small")
async def test_links_are_queried_ahead_also_when_all_is_reported(url: str, late: list[int]) -> None:
    async with bridge(url, [*routes(60 * BATCH)]) as one:
        await one.filled()
    assert len(late) >= 10
    assert sum(late) < 60 * BATCH / 2


async def test_of_objects_that_opa_holds_already_no_links_are_queried_and_nothing_is_kept(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 3 * links.BATCH
    async with bridge(url, [*routes(count)], owner="me:1", content="cluster rego") as first:
        await first.filled()
    requested: list[int] = []
    kept: list[int] = []
    query, write = Linking._query, Writer.write

    async def asking(self: Linking, reading: Any, batch: Any) -> Any:
        requested.append(len(batch))
        return await query(self, reading, batch)

    async def writing(self: Writer, batch: dict[Key, Object | None]) -> dict[Key, Known]:
        written = await write(self, batch)
        kept.append(len(self.linking._ahead))
        return written

    monkeypatch.setattr(Linking, "_query", asking)
    monkeypatch.setattr(Writer, "write", writing)
    source = ScriptedSource(routes(count), silent=[ROUTE])
    async with bridge(url, source, owner="me:1", content="cluster rego") as again:
        await eventually(lambda: source.relisted > 0)
        source.say(Listing(ROUTE), Upserted(ROUTE, tuple(source.objects.values())))
        await asyncio.sleep(0.5)
        source.say(Listed(ROUTE))
        await again.filled()
        assert len(again.replicator) == count
    assert requested == []
    assert sum(kept) == 0
    assert kept


@pytest.mark.usefixtures("small")
async def test_links_of_objects_that_are_deleted_before_their_write_are_discarded(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PIECE", 1_000_000)
    source = ScriptedSource(routes(2 * BATCH), silent=[ROUTE])
    async with bridge(url, source) as one:
        made = one.replicator._writer.linking
        await eventually(lambda: ROUTE in source.wanted)
        source.say(Listing(ROUTE), Upserted(ROUTE, tuple(source.objects.values())))
        await eventually(lambda: len(made._ahead) == 2 * BATCH)
        for key in [key for key in source.objects if key.type_id == ROUTE]:
            source.delete(key)
        gone = await until_written(one.replicator._writer, monkeypatch, lambda: source.say(Listed(ROUTE)))
        assert gone == 0


async def until_written(writer: Writer, monkeypatch: pytest.MonkeyPatch, begin: Any) -> int:
    """What is kept of the links that were requested ahead, after the next write of many."""
    kept: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    write = writer.write

    async def writing(batch: dict[Key, Object | None]) -> dict[Key, Known]:
        written = await write(batch)
        if len(batch) > BATCH and not kept.done():
            kept.set_result(len(writer.linking._ahead))
        return written

    monkeypatch.setattr(writer, "write", writing)
    begin()
    async with asyncio.timeout(300):
        return await kept


@pytest.mark.usefixtures("small")
async def test_waiting_changes_are_not_scanned_for_each_change(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    ahead = Linking.ahead

    async def looking(self: Linking, *waiting: Any) -> bool:
        nonlocal looks
        looks += 1
        return await ahead(self, *waiting)

    monkeypatch.setattr(Linking, "ahead", looking)
    monkeypatch.setattr(replicator, "PIECE", 1_000_000)
    source = ScriptedSource(routes(20 * BATCH), silent=[ROUTE])
    async with bridge(url, source) as one:
        await eventually(lambda: ROUTE in source.wanted)
        source.say(Listing(ROUTE))
        for obj in source.objects.values():
            source.say(Upserted(ROUTE, (obj,)))
            await asyncio.sleep(0.001)
        source.say(Listed(ROUTE))
        await one.filled()
    assert looks < 10 * BATCH


async def test_an_unexpected_error_of_links_queried_ahead_is_reported(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: Any) -> bool:
        raise KeyError("an unexpected error")

    monkeypatch.setattr(Linking, "ahead", failing)
    with capture_logs() as logs:
        async with bridge(url, [*routes(3)]) as one:
            await one.filled()
    reported = [entry for entry in logs if entry["log_level"] == "error"]
    assert [str(entry["exc_info"]) for entry in reported] == ["'an unexpected error'"]
