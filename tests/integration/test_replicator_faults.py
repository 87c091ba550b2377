"""The replicator on a real OPA that is frozen, overloaded, or shared, and answers that get lost."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tenacity import wait_fixed

from bridge.model.changes import Object, Trouble
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.replicator import intake, replicator, writer
from bridge.replicator.replicator import BATCH_BYTES
from bridge.replicator.writer import MOST_OPERATIONS
from tests.builders import service
from tests.eventually import eventually
from tests.faults.comparing import differences, held
from tests.freezing import freeze
from tests.integration.faulty_opa import Fault, FaultyOpa, arrive_late, lose, lose_answer, once, refuse
from tests.integration.scripted import ScriptedSource
from tests.integration.test_replicator import POLICY_KIND, bridge, color, keys, route
from tests.processes import opa_below
from tests.warm_opa import WarmOpa, sync_bundle


async def at(url: str, path: str) -> Any:
    async with Opa(url) as opa:
        return await opa.get(path)


async def keys_held(url: str) -> set[str]:
    """The keys of all objects that OPA holds; the test's own marks left out."""
    return {key for key in held(await at(url, "objects") or {}) if not key.endswith("/barrier")}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lose_answer, id="its answer gets lost"),
        pytest.param(lose, id="it gets lost"),
        pytest.param(refuse(500), id="OPA fails"),
        pytest.param(refuse(429), id="OPA has too much to do"),
    ],
)
async def test_a_write_is_made_exactly_once_when(faulty: FaultyOpa, fault: Fault) -> None:
    async with bridge(faulty.url, [service("a"), route("one", "a")]) as one:
        await one.filled()
        faulty.fault = once(fault)
        one.source.delete(key_of(service("a")))
        one.source.put(service("b"))
        await one.notices.until_written()
        faulty.fault = once(fault)
        one.source.put(service("c"))
        one.source.delete(key_of(service("b")))
        await one.notices.until_written()
        assert await keys_held(faulty.url) == keys(service("c"), route("one"))
        assert one.source.relisted == 0


async def test_an_initial_sync_continues_after_a_lost_write(faulty: FaultyOpa) -> None:
    faulty.fault = once(lose_answer)
    async with bridge(faulty.url, [service("a"), route("one", "a")]) as one:
        await one.filled()
        assert await keys_held(faulty.url) == keys(service("a"), route("one"))
        assert one.source.relisted == 0


async def test_a_write_that_arrives_late_changes_nothing_any_more(faulty: FaultyOpa) -> None:
    async with bridge(faulty.url, [service("a")]) as one:
        await one.filled()
        faulty.fault = once(arrive_late(1.0))
        one.source.put(service("a", spec={"number": 1}))
        await one.notices.until_written()
        one.source.put(service("a", spec={"number": 2}))
        await one.notices.until_written()
        await asyncio.sleep(1.5)
        assert (await at(faulty.url, "objects/core/Service/shop/a"))["spec"] == {"number": 2}
        assert one.source.relisted == 0


async def test_an_opa_that_freezes_is_waited_for_and_nothing_is_sent_again_that_it_has(
    opa: WarmOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SLOW", 0.5)
    frozen = opa_below(opa.pid)
    assert frozen is not None
    async with bridge(opa.url, [service("a")], timeout=2.0) as one:
        await one.filled()
        freeze(frozen)
        try:
            one.source.put(service("b"))
            await eventually(lambda: not one.replicator.filled.is_set())
            await asyncio.sleep(3)
        finally:
            os.kill(frozen, signal.SIGCONT)
        await one.filled()
        await one.notices.until_written()
        assert await keys_held(opa.url) == keys(service("a"), service("b"))
        assert one.source.relisted == 0
        assert not any(notice.refilling for notice in one.notices.seen)


async def test_a_sign_that_opa_was_restarted_is_followed_at_once(
    cold_opa: ManagedOpa, opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PROBE", 3600.0)
    async with bridge(cold_opa.url, [service("a")]) as one:
        await one.filled()
        await cold_opa.stop()
        async with ManagedOpa(opa_path, {}, bundle=sync_bundle(), port=int(cold_opa.url.rpartition(":")[2])):
            one.replicator.doubt()
            await one.notices.until_filled()
            assert await keys_held(cold_opa.url) == keys(service("a"))


async def test_while_an_opa_that_was_restarted_takes_its_modules_the_source_tells_everything_already(
    cold_opa: ManagedOpa, opa_path: Path
) -> None:
    port = int(cold_opa.url.rpartition(":")[2])
    async with bridge(cold_opa.url, [service("a")]) as one:
        await one.filled()
        await cold_opa.stop()
        async with ManagedOpa(opa_path, {}, port=port):
            one.replicator.doubt()
            await eventually(lambda: one.source.relisted == 1)
            one.source.put(service("b"))
            one.source.delete(key_of(service("a")))
            assert not one.replicator.filled.is_set()
        async with ManagedOpa(opa_path, {}, bundle=sync_bundle(), port=port):
            await one.notices.until_filled()
            assert await keys_held(cold_opa.url) == keys(service("b"))
            assert one.source.relisted == 1


async def test_data_removed_by_another_client_is_noticed_when_it_is_to_be_removed(opa: WarmOpa) -> None:
    async with bridge(opa.url, [service("a"), service("b")]) as one, Opa(opa.url) as direct:
        await one.filled()
        await direct.patch([{"op": "remove", "path": "/objects/core/Service/shop/a"}])
        one.source.delete(key_of(service("a")))
        await one.notices.until_filled()
        assert await keys_held(opa.url) == keys(service("b"))


def refuse_poison(status: int) -> Fault:
    """Refuse each write with the word poison in a value, or for an object of this name."""

    async def decide(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        poisoned = b"poison" in await request.read()
        return await refuse(status)(request, pass_on) if poisoned else await pass_on()

    return decide


@pytest.mark.parametrize("status", [400, 404, 413, 500])
async def test_object_that_opa_refuses_is_set_aside_by_name_and_the_others_are_written(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(writer, "RETURNING", wait_fixed(0.05))
    faulty.fault = refuse_poison(status)
    bad = service("bad", spec={"poison": 1})
    objects = [route("one", "bad"), *(service(f"other-{number}") for number in range(10))]
    async with bridge(faulty.url, [bad, *objects]) as one, Opa(faulty.url) as direct:

        async def compare(absent: set[str]) -> None:
            stored = [obj for key, obj in one.source.objects.items() if str(key) not in absent]
            assert await differences(direct, stored) == []
            assert {str(key) for key in one.replicator._intake.rejections} == absent
            assert sum(one.replicator.rejected.values()) == len(absent)

        await one.filled()
        await compare(keys(bad))
        one.source.put(service("bad"), service("new"))
        await one.notices.until_written()
        await compare(set())
        one.source.put(service("later"), bad, service("new", spec={"edited": 1}))
        # Where OPA lacks a document, another client may be the cause: one more sync finds out.
        await (one.notices.until_filled() if status == 404 else one.notices.until_written())
        await compare(keys(bad))
        one.source.delete(key_of(bad))
        await one.notices.until_written()
        await compare(set())
        assert one.source.relisted == (2 if status == 404 else 0)


async def test_object_above_opas_own_limit_is_set_aside_and_returns_when_it_is_smaller(opa_path: Path) -> None:
    limited = {"server": {"decoding": {"max_length": 1 << 20}}}
    large = service("large", spec={"text": "x" * (1 << 20)})
    others = [service(f"other-{number}", spec={"text": "x" * 100_000}) for number in range(20)]
    async with ManagedOpa(opa_path, limited, bundle=sync_bundle()) as opa, bridge(opa.url, [*others, large]) as one:
        await one.filled()
        assert await keys_held(opa.url) == keys(*others)
        one.source.put(service("large"))
        await one.notices.until_written()
        assert await keys_held(opa.url) == keys(*others, large)
        one.source.put(large, service("last"))
        await one.notices.until_written()
        assert await keys_held(opa.url) == keys(*others, service("last"))
        assert one.replicator.rejected == {"core/Service": 1}
        assert one.source.relisted == 0


@pytest.mark.long
async def test_a_bridge_waits_while_another_one_syncs_opa(opa: WarmOpa) -> None:
    async with bridge(opa.url, [service("second")]) as second:
        async with bridge(opa.url, [service("first")]) as first:
            # Both begin at once: one is first, and the other has to see that.
            await asyncio.wait(
                {asyncio.create_task(one.replicator.filled.wait()) for one in (first, second)},
                return_when=asyncio.FIRST_COMPLETED,
            )
            await asyncio.sleep(writer.STANDSTILL + 2)
            assert sum(one.replicator.filled.is_set() for one in (first, second)) == 1
            if second.replicator.filled.is_set():
                return
        await second.filled()
        assert await keys_held(opa.url) == keys(service("second"))


@pytest.mark.long
async def test_a_bridge_that_comes_later_waits_and_then_takes_over(opa: WarmOpa) -> None:
    async with bridge(opa.url, [service("first")]) as first:
        await first.filled()
        async with bridge(opa.url, [service("second")]) as second:
            await asyncio.sleep(writer.STANDSTILL + 2)
            assert not second.replicator.filled.is_set()
            first.source.put(service("more"))
            await first.notices.until_written()
            assert await keys_held(opa.url) == keys(service("first"), service("more"))
            first.task.cancel()
            await second.filled()
            assert await keys_held(opa.url) == keys(service("second"))


async def test_the_same_bridge_started_again_takes_over_at_once(opa: WarmOpa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "STANDSTILL", 3600)  # checks that another bridge would make
    async with bridge(opa.url, [service("first")], owner="me:1") as first:
        await first.filled()
    async with bridge(opa.url, [service("first"), service("second")], owner="me:1") as again:
        await again.filled()
        assert await keys_held(opa.url) == keys(service("first"), service("second"))


async def test_no_write_has_much_more_operations_than_opa_takes_quickly(faulty: FaultyOpa) -> None:
    def one_of_many(number: int) -> Object:
        return route(f"r{number}", *(f"s{n}" for n in range(8)))

    async with bridge(faulty.url, [one_of_many(0)]) as one:
        await one.filled()
        faulty.patches.clear()
        one.source.put(*map(one_of_many, range(1, 200)))
        await one.notices.until_written()
        sizes = [len(operations) for operations in faulty.changes()]
        assert sum(sizes) > 2 * MOST_OPERATIONS
        assert max(sizes) < MOST_OPERATIONS + 20


async def test_an_initial_sync_in_pieces_has_fewer_operations_than_objects(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "PIECE", 100)

    def routes_of(namespace: str) -> Iterator[Object]:
        gateway, backend = {"name": "public", "namespace": "infra"}, {"name": "cart", "port": 80}
        for number in range(40):
            found = route(f"r{number}")
            rules = [{"backendRefs": [backend]}]
            spec = {"parentRefs": [gateway], "rules": rules}
            yield {**found, "metadata": {**found["metadata"], "namespace": namespace}, "spec": spec}

    objects = [obj for number in range(20) for obj in routes_of(f"n{number:02}")]
    async with bridge(faulty.url, objects) as one:
        await one.filled()
        sizes = [len(operations) for operations in faulty.changes()]
        assert len(sizes) >= len(objects) // 100
        assert sum(sizes) < len(objects)
        async with Opa(faulty.url) as direct:
            assert await differences(direct, one.source.objects.values()) == []


async def test_no_write_has_much_more_bytes_than_opa_takes_quickly(faulty: FaultyOpa) -> None:
    async with bridge(faulty.url, []) as one:
        await one.filled()
        faulty.patches.clear()
        one.source.put(*(service(f"s{number}", spec={"text": "x" * 100_000}) for number in range(40)))
        await one.notices.until_written()
        sizes = [len(msgspec.json.encode(operations)) for operations in faulty.changes()]
        assert sum(sizes) > 7 * BATCH_BYTES
        assert max(sizes) < BATCH_BYTES + 100_000


async def test_the_source_waits_while_many_bytes_wait_for_opa(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "ROOM_BYTES", 1 << 20)
    async with bridge(faulty.url, []) as one:
        await one.filled()
        faulty.fault = refuse(429)
        large = [service(f"s{number}", spec={"text": "x" * 100_000}) for number in range(60)]
        one.source.put(*large)
        await eventually(lambda: not one.replicator.filled.is_set())
        await asyncio.sleep(1)
        assert one.replicator._intake.pending.size < (1 << 20) + 110_000
        assert one.source._queue.qsize() > 30
        faulty.fault = None
        await one.notices.until_written()
        assert await keys_held(faulty.url) == keys(*large)


async def test_a_killed_bridge_continues_with_the_data_of_opa(faulty: FaultyOpa) -> None:
    objects = [service("a"), service("b"), route("one", "a"), route("two", "a")]
    async with bridge(faulty.url, objects, owner="me:1", content="cluster rego") as first:
        await first.filled()
        index = await at(faulty.url, "index")
    faulty.patches.clear()
    changed = route("two", "b")
    source = ScriptedSource([*objects, changed])
    assert source.objects[key_of(changed)]["metadata"]["resourceVersion"] == "5"
    source.delete(key_of(service("b")))
    source.put(service("c"))
    async with bridge(faulty.url, source, owner="me:1", content="cluster rego") as again:
        await again.filled()
        assert await keys_held(faulty.url) == keys(service("a"), service("c"), route("one"), route("two"))
        touched = {operation["path"] for operations in faulty.changes() for operation in operations}
        assert not any("/one" in path or path.endswith("/a") for path in touched)
        again.source.put(route("two", "a"), service("b"))
        again.source.delete(key_of(service("c")))
        await again.notices.until_written()
        assert await at(faulty.url, "index") == index


async def test_types_that_are_no_longer_replicated_are_removed_from_a_reused_opa(opa: WarmOpa) -> None:
    """The CRD of one type and the PolicyKind of another went while no bridge was there."""
    before = [POLICY_KIND, color("red"), service("cart"), route("one", "cart")]
    async with bridge(opa.url, before, owner="me:1", content="cluster rego") as first:
        await first.filled()
        assert await keys_held(opa.url) == keys(*before)
    source = ScriptedSource([color("red"), service("cart")], silent=["gateway.networking.k8s.io/HTTPRoute"])
    async with bridge(opa.url, source, owner="me:1", content="cluster rego") as again:
        await eventually(lambda: "gateway.networking.k8s.io/HTTPRoute" in source.wanted and source.relisted > 0)
        source.say(Trouble("gateway.networking.k8s.io/HTTPRoute", "not served", absent=True))
        await again.filled()
        await again.notices.until_written()
        assert await keys_held(opa.url) == keys(service("cart"))
        assert not (await at(opa.url, "index"))["parents"]


async def test_policies_that_share_a_target_are_reused_and_audited(
    opa: WarmOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand deeper in the index than links do."""
    monkeypatch.setattr(replicator, "AUDIT", 0.2)
    objects = [service("cart"), POLICY_KIND, color("red"), color("blue")]
    async with bridge(opa.url, objects, owner="me:1", content="cluster rego") as first:
        await first.filled()
        index = await at(opa.url, "index")
        await asyncio.sleep(1)
        assert not any(notice.refilling for notice in first.notices.seen)
    async with bridge(opa.url, objects, owner="me:1", content="cluster rego") as again:
        await again.filled()
        again.source.delete(key_of(color("red")))
        again.source.put(service("cart", tier="front"))
        await again.notices.until_written()
        again.source.put(color("red"))
        await again.notices.until_written()
        assert await at(opa.url, "index") == index
        await asyncio.sleep(1)
        assert not any(notice.refilling for notice in again.notices.seen)


async def test_data_by_other_rego_or_from_another_cluster_is_replaced(faulty: FaultyOpa) -> None:
    async with bridge(faulty.url, [service("a")], owner="me:1", content="cluster rego") as first:
        await first.filled()
    faulty.patches.clear()
    async with bridge(faulty.url, [service("a")], owner="me:1", content="cluster other-rego") as again:
        await again.filled()
        assert {"/objects", "/index"} <= {op["path"] for operations in faulty.changes() for op in operations}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param([{"op": "remove", "path": "/objects/core/Service/shop/a"}], id="an object is missing"),
        pytest.param(
            [{"op": "add", "path": "/objects/core/Service/shop/z", "value": service("z")}], id="one is foreign"
        ),
        pytest.param(
            [{"op": "add", "path": "/objects/core/Service/shop/a/metadata/resourceVersion", "value": "0"}],
            id="one has another version",
        ),
        pytest.param([{"op": "add", "path": "/index/parents", "value": {}}], id="the index is empty"),
    ],
)
async def test_an_audit_finds_and_fixes_changes_of_another_client_in_opa(
    faulty: FaultyOpa, monkeypatch: pytest.MonkeyPatch, change: list[dict[str, Any]]
) -> None:
    """Objects in their places, and an index from a full sync."""
    monkeypatch.setattr(replicator, "AUDIT", 0.2)
    async with (
        bridge(faulty.url, [service("a"), route("one", "a")], content="cluster rego") as one,
        Opa(faulty.url) as direct,
    ):
        await one.filled()
        before = await direct.get("objects"), await direct.get("index")
        await asyncio.sleep(1)
        assert not any(notice.refilling for notice in one.notices.seen)
        await direct.patch(change)
        faulty.patches.clear()
        await one.notices.until_filled()
        assert (await direct.get("objects"), await direct.get("index")) == before
        touched = {operation["path"] for operations in faulty.changes() for operation in operations}
        assert {"/objects", "/index"} & touched == ({"/objects", "/index"} if "/index" in change[0]["path"] else set())
