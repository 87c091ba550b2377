"""The replicator against a real OPA, from a source that the test holds in its hand."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Listing, Notice, Object, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.opa.bundle import STATE, Bundle, build_bundle
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.replicator import replicator
from bridge.replicator.replicator import BATCH, Replicator
from tests.builders import GATEWAY_API, backends, gateway, http_route, policy, policy_kind, service, target_ref
from tests.eventually import eventually
from tests.faults.comparing import declared_ends, differences, held
from tests.integration.scripted import BARRIER, Notices, ScriptedSource
from tests.scenarios.cases import PRESETS
from tests.warm_opa import WarmOpa, sync_bundle
from tests.working import working

TYPES = ("core/Namespace", "core/Service", "gateway.networking.k8s.io/HTTPRoute", "policybridge.io/PolicyKind", BARRIER)
POLICY_KIND = policy_kind("ColorPolicy", effectiveTarget="Rule")


@dataclass
class Bridge:
    """A replicator at work."""

    source: ScriptedSource
    replicator: Replicator
    notices: Notices
    opa: Opa
    task: asyncio.Task[None]

    async def held(self) -> dict[str, Any]:
        """All objects that OPA holds, by key; the test's own marks left out."""
        found = held(await self.opa.get("objects") or {})
        return {key: obj for key, obj in found.items() if not key.endswith("/barrier")}

    async def filled(self) -> None:
        """Wait until this is logged."""
        waiting = asyncio.create_task(self.replicator.filled.wait())
        await asyncio.wait({self.task, waiting}, timeout=300, return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            self.task.result()
        assert waiting.done()


@asynccontextmanager
async def bridge(
    url: str,
    objects: list[Object] | ScriptedSource,
    *,
    types: Iterable[str] = TYPES,
    timeout: float = 30.0,
    **options: Any,
) -> AsyncIterator[Bridge]:
    """A replicator with these objects, at an OPA."""
    async with Opa(url, timeout=timeout) as opa:
        source = objects if isinstance(objects, ScriptedSource) else ScriptedSource(objects)
        replicator = Replicator(source, opa, types, **options)
        notices = Notices(source, replicator)
        task = asyncio.create_task(replicator.run())
        try:
            yield Bridge(source, replicator, notices, opa, task)
        finally:
            if task.done() and not task.cancelled():
                task.result()  # raises what ended it: a test may only have seen that nothing happens
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def replicating(
    opa_path: Path, source: ScriptedSource, *, bundle: Bundle | None = None, types: Iterable[str] = TYPES
) -> AsyncIterator[Bridge]:
    async with WarmOpa(opa_path, bundle=bundle) as managed, bridge(managed.url, source, types=types) as one:
        yield one


def route(name: str, *services: str) -> Object:
    return http_route(name, rules=[backends(*services)])


def color(name: str) -> Object:
    return policy("ColorPolicy", name, [target_ref("Service", "cart")])


def keys(*objects: Object) -> set[str]:
    return {str(key_of(obj)) for obj in objects}


async def test_it_syncs_opa_with_objects_links_kinds_and_the_policies_of_those_kinds(opa_path: Path) -> None:
    objects = [service("cart"), route("one", "cart"), POLICY_KIND, color("red")]
    async with replicating(opa_path, ScriptedSource(objects)) as bridge:
        await bridge.filled()
        assert await bridge.held() == {str(key): obj for key, obj in bridge.source.objects.items()}
        index = await bridge.opa.get("index")
        assert index is not None
        assert declared_ends(index["parents"]) == {str(key_of(objects[1])): {"core/Service/shop/cart"}}
        assert "core/Service/shop/cart" in index["attached"]["test.example.com/ColorPolicy"]
        assert set(await bridge.opa.get("kinds") or {}) == PRESETS | {"test.example.com/ColorPolicy"}
        assert bridge.notices.seen == [Notice(refilled=True)]
        assert len(bridge.replicator) == 4


async def test_it_waits_for_types_that_are_slow_or_cannot_be_reached_but_not_for_those_that_are_missing(
    opa_path: Path,
) -> None:
    source = ScriptedSource([service("cart")], silent=["core/Service", "core/Namespace"])
    async with replicating(opa_path, source) as bridge:
        source.say(Trouble("core/Namespace", "forbidden"))
        source.say(Trouble("core/Service", "the API server is unavailable", unknown=True))
        await asyncio.sleep(0.5)
        source.say(Listing("core/Service"))
        await asyncio.sleep(0.5)
        assert not bridge.replicator.filled.is_set()
        assert set(bridge.replicator.troubles) == {"core/Namespace"}
        source.tell("core/Service")
        await bridge.filled()
        assert await bridge.held() == {"core/Service/shop/cart": source.objects[key_of(service("cart"))]}


async def test_a_type_that_does_not_answer_holds_no_fill_for_ever_while_others_answer(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "SILENCE", 0.2)
    monkeypatch.setattr(replicator, "PROBE", 0.1)
    source = ScriptedSource([service("cart")], silent=["core/Service"])
    async with replicating(opa_path, source) as bridge:
        source.say(Trouble("core/Service", "no answer", unknown=True))
        await bridge.filled()
        assert await bridge.held() == {}
        source.tell("core/Service")
        await bridge.notices.until_written()
        assert set(await bridge.held()) == keys(service("cart"))


async def test_an_initial_sync_waits_while_no_type_can_be_listed(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "SILENCE", 0.2)
    monkeypatch.setattr(replicator, "PROBE", 0.1)
    source = ScriptedSource([service("cart")], silent=TYPES)
    async with replicating(opa_path, source) as bridge:
        source.say(*(Trouble(type_id, "the API server is unavailable", unknown=True) for type_id in TYPES))
        await asyncio.sleep(1)
        assert not bridge.replicator.filled.is_set()


async def test_garbage_of_a_long_fill_is_collected(opa_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Circle:
        """What only the collector can free."""

        def __init__(self) -> None:
            self.own = self

    monkeypatch.setattr(replicator, "EVERY", 0.2)
    source = ScriptedSource([service("cart")], silent=TYPES)
    async with replicating(opa_path, source):
        await eventually(lambda: not gc.isenabled())
        seen = weakref.ref(Circle())
        await eventually(lambda: seen() is None)
        assert not gc.isenabled()


async def test_a_notice_has_the_changes_and_their_former_places(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource([route("one", "cart")])) as bridge:
        await bridge.filled()
        bridge.source.put(route("one", "stock"), service("cart"))
        (notice,) = await bridge.notices.until_written()
        one = key_of(route("one"))
        assert set(notice.keys) == {one, key_of(service("cart"))}
        assert set(notice.was) == {one}
        assert ("parents", "core/Service/shop/cart") in notice.was[one]


async def test_a_change_of_the_status_alone_is_reported_and_in_opa(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource([route("one", "cart")])) as bridge:
        await bridge.filled()
        bridge.source.put({**route("one", "cart"), "status": {"parents": []}})
        (notice,) = await bridge.notices.until_written()
        assert (notice.keys, notice.reported) == ((), (key_of(route("one")),))
        assert (await bridge.held())[str(key_of(route("one")))]["status"] == {"parents": []}


async def test_the_same_version_again_is_not_written(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource([service("cart")])) as bridge:
        await bridge.filled()
        bridge.source.tell("core/Service")
        assert [notice for notice in await bridge.notices.until_written() if notice.keys or notice.reported] == []


async def test_an_object_without_versions_is_written_each_time_but_affects_nothing_when_it_is_the_same(
    opa_path: Path,
) -> None:
    async with replicating(opa_path, ScriptedSource([service("cart")], versions=False)) as bridge:
        await bridge.filled()
        bridge.source.put(service("cart"))
        (notice,) = await bridge.notices.until_written()
        assert notice.keys == ()
        bridge.source.put(service("cart", spec={}))
        (notice,) = await bridge.notices.until_written()
        assert notice.keys == (key_of(service("cart")),)


async def test_a_burst_is_a_few_writes_and_the_newest_state_counts(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource()) as bridge:
        await bridge.filled()
        for number in range(50):
            bridge.source.put(*(service(f"s{name}", spec={"number": number}) for name in range(20)))
        notices = await bridge.notices.until_written()
        assert len(notices) <= 2 * (20 * 50) / BATCH
        assert {obj["spec"]["number"] for obj in (await bridge.held()).values()} == {49}


async def test_an_object_and_its_links_are_never_seen_apart(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource()) as bridge:
        await bridge.filled()
        writing = asyncio.create_task(_rewrite(bridge))
        looks = 0
        while not writing.done():
            data = await bridge.opa.get("") or {}
            backends = {
                str(key): {f"core/Service/shop/{ref['name']}" for ref in obj["spec"]["rules"][0]["backendRefs"]}
                for key, obj in _routes(data)
            }
            linked = {key: set[str]() for key in backends} | declared_ends(data["index"]["parents"])
            assert linked == backends
            looks += 1
        await writing
        assert looks > 20


async def _rewrite(bridge: Bridge) -> None:
    for number in range(60):
        name = f"r{number % 7}"
        if number % 5 == 4 and key_of(route(name)) in bridge.source.objects:
            bridge.source.delete(key_of(route(name)))
        else:
            bridge.source.put(route(name, f"a{number}", f"b{number % 3}"))
        await bridge.notices.until_written()


def _routes(data: dict[str, Any]) -> list[tuple[Key, Object]]:
    routes = data["objects"].get("gateway.networking.k8s.io", {}).get("HTTPRoute", {}).get("shop", {})
    return [(key_of(obj), obj) for obj in routes.values()]


async def test_an_opa_that_was_killed_and_started_again_is_synced_again(opa_path: Path, cold_opa: ManagedOpa) -> None:
    source = ScriptedSource([service("cart"), POLICY_KIND, color("red")])
    async with bridge(cold_opa.url, source) as one:
        await one.filled()
        await cold_opa.stop()
        source.put(service("late"))  # a write that is lost
        await eventually(lambda: not one.replicator.filled.is_set())
        async with ManagedOpa(opa_path, {}, bundle=sync_bundle(), port=int(cold_opa.url.rpartition(":")[2])):
            await one.filled()
            assert set(await one.held()) == keys(service("cart"), service("late"), POLICY_KIND, color("red"))
            assert [notice for notice in one.notices.seen if notice.refilling or notice.refilled] == [
                Notice(refilled=True),
                Notice(refilling=True),
                Notice(refilled=True),
            ]


async def test_a_restart_of_opa_is_detected_without_writes(opa_path: Path, unused_tcp_port: int) -> None:
    own = ManagedOpa(opa_path, {}, bundle=sync_bundle(), port=unused_tcp_port)
    async with own as opa, bridge(opa.url, [service("cart")]) as one:
        await one.filled()
        await opa.stop()
        await opa.start()
        await one.notices.until_filled()
        assert set(await one.held()) == keys(service("cart"))


async def test_an_opa_that_is_synced_again_is_not_taken_for_synced_without_the_policies(opa_path: Path) -> None:
    """A source takes back what is no longer wanted: policy kinds that were dropped meanwhile would have no policies."""
    source = ScriptedSource([POLICY_KIND, service("cart"), color("blue")])
    async with replicating(opa_path, source) as bridge:
        await bridge.filled()
        before = len(source.wants)
        await bridge.opa.put(STATE, {"epoch": "lost"})
        await bridge.notices.until_filled()
        assert all("test.example.com/ColorPolicy" in types for types in source.wants[before:])
        assert len(source.wants) > before
        assert set(await bridge.held()) == keys(POLICY_KIND, service("cart"), color("blue"))


async def test_data_of_another_bridge_is_replaced_even_while_there_is_much_to_write(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource([service("cart")])) as bridge:
        await bridge.filled()
        await bridge.opa.put("objects/core/Service/foreign/one", service("one"))
        await bridge.opa.put(STATE, {"epoch": "another", "filled": True})
        again = asyncio.create_task(bridge.notices.until_filled())
        number = 0
        while not again.done():
            number += 1
            bridge.source.put(service("busy", spec={"number": number}))
            await asyncio.sleep(0.01)
        await again
        await bridge.notices.until_written()
        assert set(await bridge.held()) == keys(service("cart"), service("busy"))


async def test_opa_is_complete_once_it_has_every_object_and_stays_so_for_the_next_bridge(opa_path: Path) -> None:
    silent = "test.example.com/ColorPolicy"
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed, Opa(managed.url) as opa:
        source = ScriptedSource([service("cart"), POLICY_KIND, color("red")], silent=[silent])
        replicator = Replicator(source, opa, TYPES, content="same")
        async with working(replicator.run):
            await eventually(lambda: opa.get(f"{STATE}/epoch"), lambda epoch: epoch is not None)
            await eventually(lambda: silent in source.wanted)
            assert await opa.get(f"{STATE}/complete") is False
            assert replicator.lacking
            source.tell(silent)
            await asyncio.wait_for(replicator.filled.wait(), 300)
            assert await opa.get(f"{STATE}/complete") is True
            assert replicator.lacking == ""
        waiting = ScriptedSource([service("cart"), POLICY_KIND], silent=["core/Service"])
        follower = Replicator(waiting, opa, TYPES, content="same")
        async with working(follower.run):
            await eventually(lambda: follower.lacking == "")
            assert not follower.filled.is_set()
            assert await opa.get(f"{STATE}/complete") is True


async def test_an_opa_that_restarts_during_an_initial_sync_is_not_synced(opa_path: Path) -> None:
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed, Opa(managed.url) as opa:
        source = ScriptedSource([service("cart"), POLICY_KIND, color("red")], silent=["test.example.com/ColorPolicy"])
        replicator = Replicator(source, opa, TYPES)
        task = asyncio.create_task(replicator.run())
        await eventually(lambda: "test.example.com/ColorPolicy" in source.wanted)
        port = int(managed.url.rpartition(":")[2])
        await managed.stop()
        async with ManagedOpa(opa_path, {}, bundle=sync_bundle(), port=port):
            source.tell("test.example.com/ColorPolicy")
            await asyncio.wait_for(replicator.filled.wait(), 300)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert source.relisted == 1
            assert await opa.get("objects/core/Service/shop/cart") is not None


async def test_object_without_computable_links_is_left_out_and_the_others_are_written(
    opa_path: Path,
) -> None:
    poison = """package bridge.v1
contradiction(obj) := 1 if obj.kind
contradiction(obj) := 2 if obj.metadata.name == "poison"
links[key] := entries if {
    some obj in input.objects
    contradiction(obj)
    key := concat("/", ["core/Service", "shop", obj.metadata.name])
    entries := {"entries": [{"path": ["targeted", "core/Service/shop/somebody"], "value": true}]}
}
link_fields := ["/apiVersion", "/kind", "/metadata"]
link_shapes := null
linking_statuses := []
kind_documents := {"kinds": {}, "kind_sets": {"served": {}}}
undescribed := {}
stamps := {}
"""
    bundle = build_bundle({"poison.rego": poison}, {}, ["bridge"])
    objects = [service(name) for name in ("a", "b", "poison", "c", "d")]
    async with replicating(opa_path, ScriptedSource(objects), bundle=bundle) as bridge:
        await bridge.filled()
        assert set(await bridge.held()) == keys(*(service(name) for name in "abcd"))
        assert {str(key) for key in bridge.replicator._intake.rejections} == keys(service("poison"))
        linked = await bridge.opa.get("index/targeted") or {}
        assert set(linked["core/Service/shop/somebody"]) == keys(*(service(name) for name in "abcd"))


async def test_changes_before_a_repeated_listing_are_left_out(opa_path: Path) -> None:
    async with replicating(opa_path, ScriptedSource([service("cart")])) as bridge:
        await bridge.filled()
        bridge.replicator._start_over()
        bridge.source.say(Upserted("core/Gateway", ()))
        await bridge.notices.until_written()
        assert set(await bridge.held()) == keys(service("cart"))


@pytest.mark.parametrize("path", ["/a%20b", "/a%2Fb", "/%25", "/100%", "/a~1b", '/"'])
async def test_route_with_any_path_is_added_edited_and_removed_beside_other_changes(opa_path: Path, path: str) -> None:
    types = (*TYPES, f"{GATEWAY_API}/Gateway")
    match = {"matches": [{"path": {"type": "PathPrefix", "value": path}}]}
    plain = [{"matches": [{"path": {"value": "/plain"}}]}]
    named = http_route("named", rules=plain, spec={"hostnames": ["shop.example.com"]})
    objects = [gateway("public"), service("cart"), http_route("any", rules=plain), named]
    async with replicating(opa_path, ScriptedSource(objects), types=types) as bridge:
        await bridge.filled()
        odd = http_route("odd", rules=[{**match, **backends("cart")}])
        for change in (odd, {**odd, "spec": {**odd["spec"], "hostnames": ["shop.example.com"]}}):
            bridge.source.put(change, service(f"number-{bridge.source.version}"))
            await bridge.notices.until_written()
            wanted = {"gateway": f"{GATEWAY_API}/Gateway/shop/public", "host": "shop.example.com", "path": path}
            found = await bridge.opa.query("request", {**wanted, "port": 80})
            assert found["rule"] == f"{GATEWAY_API}/HTTPRoute/shop/odd#[0]", found
            assert await differences(bridge.opa, bridge.source.objects.values()) == []
        bridge.source.delete(key_of(odd))
        bridge.source.put(service("last"))
        await bridge.notices.until_written()
        assert await differences(bridge.opa, bridge.source.objects.values()) == []
        assert bridge.source.relisted == 0


async def test_route_with_an_empty_hostname_replaces_nothing_else_in_the_index(opa_path: Path) -> None:
    hostile = http_route("hostile", spec={"hostnames": ["", "a.example.com"]})
    async with replicating(opa_path, ScriptedSource([http_route("kept")])) as bridge:
        await bridge.filled()
        bridge.source.put(hostile)
        await bridge.notices.until_written()
        assert await differences(bridge.opa, bridge.source.objects.values()) == []
        bridge.source.delete(key_of(hostile))
        await bridge.notices.until_written()
        assert await differences(bridge.opa, bridge.source.objects.values()) == []
        assert bridge.source.relisted == 0
