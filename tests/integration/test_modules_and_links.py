"""Links follow the modules that make them, statuses wait meanwhile, and a query that a module breaks is repeated."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.changes import Notice, Object
from bridge.model.keys import Key, key_of
from bridge.offline.engine import Engine
from bridge.opa.batches import in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaUnavailable
from bridge.replicator.replicator import Replicator
from bridge.replicator.writer import DOUBTFUL
from tests.builders import policy, policy_kind, service, target_ref
from tests.eventually import equal_to, eventually
from tests.integration.loading import DEADLINE, Bench, author, loading, until
from tests.integration.scripted import ScriptedSource
from tests.working import working

OBJECTS = """
- {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: infra, name: a}, spec: {}}
- {apiVersion: v1, kind: Service, metadata: {namespace: infra, name: s, annotations: {acme.io/below: a}}, spec: {}}
"""
EXTENSION = """package bridge.extensions.hierarchy.below

import data.bridge.lib.keys

links contains [gateway, keys.of(input.object)] if {
	name := input.object.metadata.annotations["acme.io/below"]
	gateway := keys.format("gateway.networking.k8s.io", "Gateway", input.object.metadata.namespace, name)
}
"""
ELSEWHERE = EXTENSION.replace("[gateway,", '["gateway.networking.k8s.io/Gateway/infra/other",')
ENDLESS = """package team.a

x if {
	some i in numbers.range(1, 1000000)
	some j in numbers.range(1, 1000000)
	i * j < 0
}
"""
FAILS = """package bridge.extensions.hierarchy.below

levels := {"acme.io/Thing": {"object": "Edge"}}

level := 1 if input.object.kind

level := 2 if input.object.metadata

links contains ["x", "y"] if level
"""
FAILS_ON_ONE = (
    EXTENSION.replace("name := ", "name := _name\n\tname == ")
    + """
_name := input.object.metadata.annotations["acme.io/below"]

_name := input.object.metadata.annotations["acme.io/also"]
"""
)
SLOW_ON_ONE = (
    EXTENSION
    + """
links contains ["x", "y"] if {
	input.object.metadata.annotations["acme.io/also"]
	some i in numbers.range(1, 10000)
	some j in numbers.range(1, 10000)
	i * j < 0
}
"""
)
STRATEGY = """package bridge.strategies.odd

result := {"spec": {}}

result := {"spec": {"odd": true}} if input[_].spec.odd
"""
TYPES = ("core/Service", "gateway.networking.k8s.io/Gateway")


@asynccontextmanager
async def filling(
    bench: Bench, source: ScriptedSource | None = None, types: Iterable[str] = TYPES, timeout: float = 30.0
) -> AsyncIterator[tuple[Replicator, list[Notice]]]:
    """A replicator whose links are made by what the loader serves, and whose queries are repeated by it."""
    loader = bench.loader
    async with Opa(bench.managed.url, timeout=timeout, recover=loader.blame, failing=loader.failing) as opa:
        source = source or ScriptedSource(yaml.safe_load(OBJECTS))
        replicator = Replicator(source, opa, types, owner="x", content="test", rules=bench.loader.links)
        bench.loader.before_rules_change(replicator.rules_change)
        notices: list[Notice] = []
        replicator.listen(notices.append)
        async with working(replicator.run):
            await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
            yield replicator, notices


async def links(bench: Bench) -> Any:
    return await bench.opa.get("index/extended")


async def test_links_are_made_again_when_their_modules_change(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench, filling(bench) as (replicator, notices):
        assert await links(bench) == {}
        notices.clear()
        bench.put("below", EXTENSION)
        await bench.until_active("below")
        await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
        assert list(await links(bench))
        assert notices[0] == Notice(refilling=True)
        assert notices[-1] == Notice(refilled=True)
        bench.loader.remove(author("below"))
        async with asyncio.timeout(DEADLINE):
            await bench.loader.wait_until_settled()
            await replicator.filled.wait()
        assert await links(bench) == {}


@pytest.mark.long
async def test_objects_stay_where_they_are_while_links_are_made_again(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench, filling(bench) as (replicator, _):
        gone = []

        async def look() -> None:
            while True:
                gone.append(await bench.opa.get("objects/core/Service/infra/s/metadata/name") != "s")

        looking = asyncio.create_task(look())
        bench.put("below", EXTENSION)
        await bench.until_active("below")
        await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        assert gone
        assert not any(gone)


@pytest.mark.long
async def test_links_follow_modules_that_were_taken_back_once_before_opa_had_them(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loading(opa_path, whole=True) as bench, filling(bench) as (replicator, _):
        bench.put("below", EXTENSION)
        await bench.until_active("below")
        tried = asyncio.Event()

        async def away(_: object) -> None:
            tried.set()
            raise OpaUnavailable("connection refused")

        with monkeypatch.context() as patched:
            patched.setattr(bench.loader._activation, "serve", away)
            bench.put("below", ELSEWHERE, version="2")
            await asyncio.wait_for(tried.wait(), DEADLINE)
            bench.put("below", EXTENSION, version="3")
            await until(lambda: bench.loader.links() is not None)
        bench.put("below", ELSEWHERE, version="4")
        await bench.until_active("below", version="4")
        await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
        assert "gateway.networking.k8s.io/Gateway/infra/other" in str(await links(bench))


@pytest.mark.long
async def test_links_made_by_modules_that_were_active_for_a_moment_are_made_again(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loading(opa_path, whole=True) as bench, filling(bench) as (replicator, _):
        bench.put("below", EXTENSION)
        await bench.until_active("below")
        await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
        with monkeypatch.context() as patched:
            patched.setattr(replicator, "_rules", lambda: None)  # it is busy with something else meanwhile
            bench.put("below", ELSEWHERE, version="2")
            await bench.until_active("below", version="2")
            source = replicator._intake._source
            assert isinstance(source, ScriptedSource)
            service = next(obj for obj in source.objects.values() if obj["kind"] == "Service")
            source.put({**service, "spec": {"ports": []}})
            await eventually(lambda: links(bench), lambda found: "infra/other" in str(found))
            assert await bench.opa.get("bridge_state/rules") == DOUBTFUL
            bench.put("below", EXTENSION, version="3")
            await bench.until_active("below", version="3")
        await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
        assert "infra/other" not in str(await links(bench))


async def test_other_modules_change_no_link(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench, filling(bench) as (_, notices):
        notices.clear()
        bench.put("other", "package team.a\n\nx := 1\n")
        await bench.until_active("other")
        assert notices == []
        bench.put("custom", "package bridge.strategies.largest\n\nresult := input.challenger\n")
        await bench.until_active("custom")
        # No link is another, but statuses may be.
        await until(lambda: notices == [Notice(refilling=True), Notice(refilled=True)])


@pytest.mark.long
async def test_a_module_that_fails_for_links_goes_and_the_query_is_sent_again(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench:
        bench.put("below", EXTENSION)
        await bench.until_active("below")
        bench.put("below", FAILS, version="2")
        await bench.until_active("below", version="2")
        async with filling(bench):
            assert list(await links(bench))
        file, _, code, _ = await bench.refused("below", "2")
        assert (file, code) == ("m0.rego", "eval_conflict_error")
        assert bench.verdicts["below"].active == "1"


def odd(name: str) -> Object:
    """A Service on which FAILS_ON_ONE fails."""
    return service(name, "infra", metadata={"annotations": {"acme.io/below": "a", "acme.io/also": "b"}})


async def is_listed(bench: Bench, message: str) -> bool:
    """Whether `pbctl get modules --opa` shows the module as active with this message."""
    (module,) = await Engine(bench.opa).modules()
    assert module["state"] == "Active"
    return message in module["message"] if message else not module["message"]


async def services(bench: Bench) -> set[str]:
    return set(await bench.opa.get("objects/core/Service/infra") or {})


async def test_module_that_fails_on_one_object_stays_and_the_object_is_left_out(opa_path: Path) -> None:
    source = ScriptedSource(yaml.safe_load(OBJECTS))
    good = source.objects[Key("core", "Service", "infra", "s")]
    async with loading(opa_path, whole=True) as bench:
        bench.put("below", FAILS_ON_ONE)
        await bench.until_active("below")
        async with filling(bench, source) as (replicator, notices):
            before, revision = await links(bench), bench.loader.revision

            async def change(*objects: Object) -> set[str]:
                said = len(notices)
                source.put(*objects, service("beside", "infra", spec={"number": said}))
                await until(lambda: len(notices) > said and replicator.idle)
                return {str(key) for key in replicator._intake.rejections}

            assert await change(odd("odd")) == {"core/Service/infra/odd"}
            assert await services(bench) == {"s", "beside"}
            await until(lambda: bool(bench.verdicts["below"].failing))
            (problem,) = bench.verdicts["below"].failing
            assert (problem.file, problem.code) == ("m0.rego", "eval_conflict_error")
            assert "core/Service/infra/odd" in problem.message
            assert bench.verdicts["below"].programmed
            await eventually(partial(is_listed, bench, "fails on core/Service/infra/odd: "), patience=DEADLINE)
            # An object that was good leaves OPA with its change, and returns with the next one.
            assert await change(odd("s")) == {"core/Service/infra/odd", "core/Service/infra/s"}
            assert await services(bench) == {"beside"}
            assert await change(good) == {"core/Service/infra/odd"}
            assert await links(bench) == before
            source.delete(key_of(odd("odd")))
            assert await change() == set()
            await until(lambda: not bench.verdicts["below"].failing)
            await eventually(partial(is_listed, bench, ""), patience=DEADLINE)
            assert bench.loader.revision == revision
            assert not any(notice.refilling for notice in notices)


@pytest.mark.long
async def test_object_that_was_left_out_returns_with_another_version_of_the_module(opa_path: Path) -> None:
    source = ScriptedSource([odd("odd")])
    async with loading(opa_path, whole=True) as bench:
        bench.put("below", FAILS_ON_ONE)
        await bench.until_active("below")
        async with filling(bench, source) as (replicator, _):
            assert await services(bench) == set()
            bench.put("below", EXTENSION, version="2")
            await until(lambda: not replicator._intake.rejections and replicator.filled.is_set())
            assert await services(bench) == {"odd"}
            await until(lambda: not bench.verdicts["below"].failing)


@pytest.mark.long
async def test_object_that_makes_an_extension_slow_is_left_out_and_stops_no_other(opa_path: Path) -> None:
    source = ScriptedSource([service("s", "infra"), odd("first")])
    async with loading(opa_path, whole=True) as bench:
        bench.put("below", SLOW_ON_ONE)
        await bench.until_active("below")
        async with filling(bench, source, timeout=4.0) as (replicator, _):  # during the initial sync
            assert await services(bench) == {"s"}
            source.put(odd("second"))
            await until(lambda: replicator._intake.rejections.counts.get("core/Service") == 2)
            source.put(odd("second"), service("quick", "infra"))
            await eventually(partial(services, bench), equal_to({"s", "quick"}), patience=DEADLINE)
            assert replicator._writer.linking._apart  # nothing has waited for the links of the slow object
            source.put(service("later", "infra"), service("first", "infra"))
            await until(lambda: replicator._intake.rejections.counts.get("core/Service") == 1 and replicator.idle)
            assert await services(bench) == {"s", "quick", "first", "later"}


@pytest.mark.long
@pytest.mark.parametrize("recreated", [False, True])
async def test_further_changes_of_a_slow_object_delay_no_write_of_others(opa_path: Path, recreated: bool) -> None:
    source = ScriptedSource([service("s", "infra")])
    async with loading(opa_path, whole=True) as bench:
        bench.put("below", SLOW_ON_ONE)
        await bench.until_active("below")
        async with filling(bench, source, timeout=8.0) as (replicator, _):
            source.put(odd("odd"))
            await until(lambda: replicator._intake.rejections.counts.get("core/Service") == 1 and replicator.idle)
            if recreated:
                source.delete(key_of(odd("odd")))
                await until(lambda: not replicator._intake.rejections and replicator.idle)
            source.put({**odd("odd"), "spec": {"changed": True}}, service("beside", "other"))
            await asyncio.wait_for(until(lambda: len(replicator) == 2 and replicator.idle), 4.0)


async def test_strategy_that_fails_at_one_target_stays_for_the_others(opa_path: Path) -> None:
    kind = policy_kind("ColorPolicy", effectiveTarget="Target", defaultStrategy="Custom", custom="odd")
    targets = [service("good", "infra"), service("bad", "infra")]
    both = {str(key_of(target)) for target in targets}

    def color(name: str, target: str, **spec: Any) -> Object:
        return policy("ColorPolicy", name, [target_ref("Service", target)], "infra", **spec)

    policies = [color(f"{target}-{number}", target) for number in (1, 2) for target in ("good", "bad")]
    source = ScriptedSource([kind, *targets, *policies])
    async with loading(opa_path, whole=True) as bench:
        bench.put("odd", STRATEGY)
        await bench.until_active("odd")
        types = (*TYPES, "policybridge.io/PolicyKind", "test.example.com/ColorPolicy")
        async with filling(bench, source, types) as (replicator, notices):
            more = {"policyKind": "test.example.com/ColorPolicy"}

            async def computed(change: Object) -> set[str]:
                said = len(notices)
                source.put(change)
                await until(lambda: len(notices) > said and replicator.idle)
                parts = await in_parts(replicator._opa, "outcomes", "targets", sorted(both), more)
                return {key for _, rows in parts for key in rows}

            assert await computed(color("bad-1", "bad", odd=True)) == both - {"core/Service/infra/bad"}
            await until(lambda: bool(bench.verdicts["odd"].failing))
            assert "core/Service/infra/bad" in bench.verdicts["odd"].failing[0].message
            assert bench.verdicts["odd"].programmed
            assert await computed(color("bad-1", "bad")) == both
            await until(lambda: not bench.verdicts["odd"].failing)


@pytest.mark.long
async def test_a_module_that_runs_for_seconds_ends_with_the_question(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench:
        bench.put("endless", ENDLESS)
        await bench.until_active("endless")
        async with Opa(bench.managed.url, timeout=1.0) as opa:
            with pytest.raises(OpaUnavailable):
                await opa.ask("team/a/x", {})
        # OPA continues with others, and no longer evaluates that one
        assert await bench.opa.query("links", {"objects": []}) == {}
