"""Views while OPA's data change: what is published is of one state."""

import asyncio
import operator
from pathlib import Path
from typing import Any, cast

import pytest

from bridge.files import rego_root
from bridge.http.bundles import BundleEndpoint
from bridge.model.changes import Notice, Object
from bridge.model.keys import key_of
from bridge.model.views import View
from bridge.opa.bundle import BUNDLE_PATH
from bridge.opa.client import Opa
from bridge.opa.errors import OpaIncomplete, OpaUnavailable
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped
from bridge.policy_loader.assembly import assemble
from bridge.policy_loader.loader import Loader
from bridge.replicator.answer_table import AnswerTable
from bridge.replicator.slices import query_slice
from bridge.settings.model import Settings
from bridge.sidecar import publishing as module
from bridge.sidecar.publishing import Publishing
from tests.builders import policy, policy_kind, service, target_ref
from tests.eventually import eventually
from tests.properties.test_incremental_statuses import Bridge, settled
from tests.warm_opa import whole_bundle

KIND = "test.example.com/ColorPolicy"


class _Loaded:
    """Modules that OPA has from the beginning."""

    async def wait_until_active(self) -> str:
        return whole_bundle().revision


def _kind(number: int) -> Object:
    spec: Any = {"class": "Direct", "targets": [{"group": "", "kind": "Service"}]}
    return policy_kind("ColorPolicy", controllerName=f"a.example/{number}", **spec)


def _is_of_one_state(documents: Any) -> bool:
    facts = documents["facts"][KIND.partition("/")[0]]["ColorPolicy"]["shop"]
    return {one["by"] for one in facts.values()} == {documents["kinds"][KIND]["by"]}


def _publishing(hub: Bridge, settings: Settings) -> Publishing:
    modules = BundleEndpoint(BUNDLE_PATH, operator.attrgetter("content"), whole_bundle())
    loader = cast("Loader", _Loaded())
    return Publishing(hub.loop, settings, hub.opa, hub.replicator, loader, modules, lambda: True)


async def test_slice_is_of_one_state_while_a_policy_kind_changes(
    opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = [policy("ColorPolicy", f"p{number}", [target_ref("Service", "cart", group="")]) for number in range(3)]
    settings = Settings(publish=("all",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [_kind(0), service("cart"), *policies]) as hub:
        publishing = _publishing(hub, settings)
        renew = hub.replicator._writer.renew_facts
        renewing, go_on = asyncio.Event(), asyncio.Event()

        async def renew_later() -> None:
            renewing.set()
            await go_on.wait()
            await renew()

        monkeypatch.setattr(hub.replicator._writer, "renew_facts", renew_later)
        hub.source.put(_kind(1))
        await renewing.wait()
        assert not _is_of_one_state((await query_slice(hub.opa, View("all"))).documents)
        reading = asyncio.create_task(publishing._read(View("all")))
        await asyncio.wait([reading], timeout=0.5)
        assert not reading.done()
        go_on.set()
        read = await reading
        assert read is not None
        documents = read[0].documents
        assert _is_of_one_state(documents)
        assert documents["kinds"][KIND]["controllerName"] == "a.example/1"


async def test_log_has_one_warning_of_a_view_that_opa_may_reject(
    opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "LARGEST_FILE", 500)
    settings = Settings(publish=("all",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [service("cart")]) as hub:
        await hub.settled()
        publishing = _publishing(hub, settings)
        for name in ("cart", "catalog"):
            hub.source.put(service(name))
            await hub.settled()
            await publishing._publish(View("all"))
            assert publishing.edges.published["all"].revision
    [line] = [line for line in capsys.readouterr().out.splitlines() if "view too large for OPA, or nearly" in line]
    assert "view=all" in line
    assert "limit=500" in line


async def test_changes_that_concern_no_view_leave_nothing_behind(opa_path: Path, tmp_path: Path) -> None:
    settings = Settings(publish=("Gateway/infra/public",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [service("cart")]) as hub:
        publishing = _publishing(hub, settings)
        with hub.loop.following(publishing):
            await hub.loop.settled(publishing)
            hub.source.put(service("catalog"))
            await hub.settled()
            assert hub.loop.is_settled(publishing)
            assert not publishing._outdated


async def test_precomputed_view_that_a_change_does_not_concern_keeps_no_change(opa_path: Path, tmp_path: Path) -> None:
    settings = Settings(publish=("Gateway/infra/public=effective",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [service("cart")]) as hub:
        publishing = _publishing(hub, settings)
        [answers] = publishing._answers.values()
        with hub.loop.following(publishing):
            await hub.loop.settled(publishing)
            hub.source.put(service("catalog"))
            await hub.settled()
            await hub.loop.settled(publishing)
            assert not answers._changed


async def test_opa_is_not_asked_about_changes_that_concern_every_view(opa_path: Path, tmp_path: Path) -> None:
    settings = Settings(publish=("all",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [service("cart")]) as hub:
        publishing = _publishing(hub, settings)
        change = Notice((key_of(service("cart")),))
        assert publishing.wants(change, 0.0) == {}
        publishing._marks["all"] = frozenset()
        assert publishing.wants(change, 0.0)


@pytest.mark.parametrize("view", ["Gateway/infra/public", "Gateway/infra/public=effective"])
async def test_view_rests_for_long_after_a_reading_that_made_changes_wait(
    view: str, opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(publish=(view,), publish_credentials=str(tmp_path / "credentials"))
    [name] = [one.name for one in settings.views]
    async with settled(opa_path, [service("cart")]) as hub:
        publishing = _publishing(hub, settings)
        read = hub.opa.query

        async def read_slowly(query: str, query_input: Any) -> Any:
            if hub.replicator.changing.locked():
                await asyncio.sleep(1)
                raise OpaUnavailable("OPA gave no answer")
            return await read(query, query_input)

        monkeypatch.setattr(hub.opa, "query", read_slowly)
        await publishing.compute([name])
        assert publishing.edges.published[name].problem == "not built: OPA gave no answer"
        assert publishing.rest(name) > 2.5


async def test_opa_is_checked_while_a_view_is_read(opa_path: Path) -> None:
    async with settled(opa_path, [service("cart")]) as hub, hub.replicator.changing:
        hub.replicator.doubt()
        assert hub.replicator.unready
        await eventually(lambda: not hub.replicator.unready)


async def test_emptied_opa_makes_no_view_select_nothing(opa_path: Path, tmp_path: Path) -> None:
    views = ("all", "Gateway/infra/public", "Gateway/infra/public=effective")
    settings = Settings(publish=views, publish_credentials=str(tmp_path / "credentials"))
    bundle = assemble(shipped(rego_root()), [], {}, replicated=True)
    async with ManagedOpa(opa_path, {}, bundle=bundle) as managed, Opa(managed.url) as opa:
        for view in settings.views:
            with pytest.raises(OpaIncomplete):
                await (AnswerTable(view, opa).read() if view.has_answers else query_slice(opa, view))


async def test_view_that_cannot_be_built_has_the_reason_until_it_can(opa_path: Path, tmp_path: Path) -> None:
    settings = Settings(publish=("all",), publish_credentials=str(tmp_path / "credentials"))
    async with settled(opa_path, [service("cart")]) as hub, Opa("http://127.0.0.1:1") as away:
        publishing = _publishing(hub, settings)
        published = publishing.edges.published
        with hub.loop.following(publishing):
            await eventually(lambda: published["all"].revision)
            publishing._opa = away
            hub.loop.renew(publishing)
            await eventually(lambda: published["all"].problem.startswith("not built: "))
            assert published["all"].revision
            publishing._opa = hub.opa
            await eventually(lambda: not published["all"].problem)
