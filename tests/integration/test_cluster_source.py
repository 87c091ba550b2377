"""The cluster as a source: many types, each on its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest

from bridge.kube.kube_client import KubeClient
from bridge.model.changes import Change, Deleted, Listed, Listing, Tapped, Trouble, Upserted, type_of
from bridge.model.keys import Key
from bridge.model.types import Selection
from bridge.sources.cluster import FIRST, REFILL, ClusterSource
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import (
    apply_crd,
    crd,
    delete_config_map,
    delete_crd,
    fresh_name,
    grant_reading,
    make_namespace,
    put_config_map,
    take_rights_away,
)
from tests.integration.reading import Reader, names, reading

CONFIG_MAP = "core/ConfigMap"
HTTP_ROUTE = "gateway.networking.k8s.io/HTTPRoute"


@pytest.fixture
def group() -> str:
    """An API group that no other test uses."""
    return f"{fresh_name('group')}.example.com"


@asynccontextmanager
async def wanting(
    client: KubeClient, types: set[str], selections: Mapping[str, Selection] = MappingProxyType({}), **more: Any
) -> AsyncIterator[tuple[ClusterSource, Reader]]:
    """A source of the types of a cluster, and the reader of its changes."""
    source = ClusterSource(client, selections, **more)
    source.want(types)
    async with reading(source.changes()) as reader:
        yield source, reader


async def put_thing(plane: ControlPlane, group: str, namespace: str, name: str, version: str = "v1") -> Any:
    body = {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": {"a": 1}}
    path = f"/apis/{group}/{version}/namespaces/{namespace}/things/{name}"
    return await asyncio.to_thread(plane.api.apply, path, body)


def of_type(changes: list[Change], type_id: str) -> list[Change]:
    return [c for c in changes if (c.subject if isinstance(c, Trouble) else getattr(c, "type_id", "")) == type_id]


async def test_a_crd_that_appears_later_is_delivered(
    control_plane: ControlPlane, client: KubeClient, group: str, namespace: str
) -> None:
    thing = f"{group}/Thing"
    async with wanting(client, {CONFIG_MAP, thing}, poll=0.5) as (_, reader):
        reported = await reader.until_trouble()
        if Listed(CONFIG_MAP) not in reader.seen:
            await reader.until_listed(CONFIG_MAP)
        await apply_crd(control_plane.api, crd("things", "Thing", group=group))
        await reader.until_listed(thing)
        await put_thing(control_plane, group, namespace, "first")
        await reader.until_named("first")
    assert reported == Trouble(
        thing, f"the API server does not serve {thing}: install the CRD that defines it", absent=True
    )


async def test_a_crd_that_was_just_applied_is_waited_for(control_plane: ControlPlane, client: KubeClient) -> None:
    """The API server has a CRD some time before it serves the type: a command that reads then missed its objects."""
    for _ in range(5):
        group = f"{fresh_name('group')}.example.com"
        source = ClusterSource(client)
        source.want({f"{group}/Thing"})
        await apply_crd(control_plane.api, crd("things", "Thing", group=group), wait=False)
        async with reading(source.changes()) as reader:
            await reader.until_listed(f"{group}/Thing")
        troubles = [change for change in reader.seen if isinstance(change, Trouble)]
        assert [
            change for change in troubles if not change.unknown
        ] == []  # the initial sync continues without the others


async def test_rediscovery_need_not_wait_for_the_next_poll(
    control_plane: ControlPlane, client: KubeClient, group: str
) -> None:
    thing = f"{group}/Thing"
    async with wanting(client, {thing}, poll=3600) as (source, reader):
        await reader.until_trouble()
        following = asyncio.create_task(reader.until_listed(thing))
        await asyncio.sleep(4)  # by now the next poll is far away
        await apply_crd(control_plane.api, crd("things", "Thing", group=group), wait=False)
        source.rediscover()
        await following


async def test_a_crd_that_goes_takes_its_objects_with_it_and_may_come_back(
    control_plane: ControlPlane, client: KubeClient, group: str, namespace: str
) -> None:
    thing = f"{group}/Thing"
    await apply_crd(control_plane.api, crd("things", "Thing", group=group))
    await put_thing(control_plane, group, namespace, "first")
    async with wanting(client, {thing}, poll=0.5) as (_, reader):
        await reader.until_listed(thing)
        gone = asyncio.create_task(reader.until(lambda change: isinstance(change, Trouble)))
        await asyncio.sleep(0.3)
        await delete_crd(control_plane.api, f"things.{group}")
        changes = await gone
        back = asyncio.create_task(reader.until_listed(thing))
        await apply_crd(control_plane.api, crd("things", "Thing", group=group))
        again = await back
    assert changes[-3:-1] == [Listing(thing), Listed(thing)]
    assert names(again) == []


async def test_another_preferred_version_is_followed(
    control_plane: ControlPlane, client: KubeClient, group: str, namespace: str
) -> None:
    thing = f"{group}/Thing"
    await apply_crd(control_plane.api, crd("things", "Thing", group=group, versions=("v1beta1",)))
    await put_thing(control_plane, group, namespace, "first", "v1beta1")
    async with wanting(client, {thing}, poll=5) as (source, reader):
        await reader.until_listed(thing)
        following = asyncio.create_task(
            reader.until(lambda c: isinstance(c, Upserted) and any(o["apiVersion"] == f"{group}/v1" for o in c.objects))
        )
        await apply_crd(control_plane.api, crd("things", "Thing", group=group, versions=("v1beta1", "v1")))
        source.rediscover()
        changes = await following
    assert Listing(thing) in changes


@pytest.fixture
async def reader_of_config_maps(control_plane: ControlPlane) -> AsyncIterator[None]:
    """The user `limited` may read ConfigMaps, and nothing else."""
    await grant_reading(control_plane.api, ("", "configmaps"))
    yield
    await take_rights_away(control_plane.api)


async def test_a_forbidden_type_delays_no_other_type(
    control_plane: ControlPlane, namespace: str, reader_of_config_maps: None, limited: KubeClient
) -> None:
    async with wanting(limited, {CONFIG_MAP, HTTP_ROUTE, "nobody.example.com/Nothing"}) as (_, reader):
        await reader.until_listed(CONFIG_MAP)
        await put_config_map(control_plane.api, namespace, "seen", {})
        await reader.until_named("seen")
        if not of_type(reader.seen, HTTP_ROUTE):
            await reader.until(lambda change: bool(of_type([change], HTTP_ROUTE)))
        forbidden = of_type(reader.seen, HTTP_ROUTE)
        await grant_reading(control_plane.api, ("", "configmaps"), ("gateway.networking.k8s.io", "httproutes"))
        await reader.until_listed(HTTP_ROUTE)
    assert [type(change) for change in forbidden] == [Trouble]


async def grant_in(plane: ControlPlane, namespace: str) -> None:
    """The user `limited` may read ConfigMaps of one namespace."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    about = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reader"}}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    binding = {**about, "kind": "RoleBinding", "subjects": [user], "roleRef": ref}
    await asyncio.to_thread(plane.api.apply, f"{rbac}/roles/reader", {**about, "kind": "Role", "rules": [rule]})
    await asyncio.to_thread(plane.api.apply, f"{rbac}/rolebindings/reader", binding)


async def test_namespaces_are_read_each_on_its_own_with_rights_in_these_alone(
    control_plane: ControlPlane, limited: KubeClient
) -> None:
    first, second, other = [await make_namespace(control_plane.api) for _ in range(3)]
    for namespace in (first, second, other):
        await put_config_map(control_plane.api, namespace, f"in-{namespace}", {})
    for namespace in (first, second):
        await grant_in(control_plane, namespace)
    async with wanting(limited, {CONFIG_MAP}, {CONFIG_MAP: Selection(namespaces=(first, second))}) as (_, reader):
        changes = await reader.until_listed(CONFIG_MAP)
        await put_config_map(control_plane.api, second, "later", {})
        await reader.until_named("later")
    assert changes[0] == Listing(CONFIG_MAP)
    assert {f"in-{first}", f"in-{second}"} == set(names(changes))
    assert {change.namespace for change in changes if isinstance(change, Listed)} == {"", first, second}


async def test_a_tap_learns_unreadable_types_and_the_namespaces_of_others(
    control_plane: ControlPlane, limited: KubeClient
) -> None:
    own, other = [await make_namespace(control_plane.api) for _ in range(2)]
    for namespace in (own, other):
        await put_config_map(control_plane.api, namespace, f"in-{namespace}", {})
    await grant_in(control_plane, own)
    every: list[Change] = []
    routes: list[Change] = []
    everything = Tapped(ClusterSource(limited, instead=(own,)), every.append)
    source = Tapped(everything, routes.append, frozenset({HTTP_ROUTE}))
    source.want({CONFIG_MAP, "core/Secret"})
    async with reading(source.changes()) as reader:
        while not {HTTP_ROUTE, "core/Secret", CONFIG_MAP} <= {
            change.subject for change in reader.seen if isinstance(change, Trouble)
        }:
            await reader.until_trouble()
    assert every == reader.seen
    assert set(names(every)) == {f"in-{own}"}
    troubles = {change.subject: change for change in every if isinstance(change, Trouble)}
    assert all(trouble.forbidden for trouble in troubles.values())
    assert {subject: trouble.namespaces for subject, trouble in troubles.items()} == {
        CONFIG_MAP: (own,),
        "core/Secret": (),
        HTTP_ROUTE: (),
    }
    assert [type_of(change) for change in routes] == [HTTP_ROUTE] * len(routes)
    assert [change for change in routes if isinstance(change, Trouble)] == of_type(every, HTTP_ROUTE)


async def test_selectors_leave_out_other_objects(
    control_plane: ControlPlane, client: KubeClient, namespace: str
) -> None:
    for name in ("one", "two", "three"):
        await put_config_map(control_plane.api, namespace, name, {})
    fields = f"metadata.namespace={namespace},metadata.name!=two"
    async with wanting(
        client, {CONFIG_MAP}, {CONFIG_MAP: Selection(field_selector=fields, label_selector="!left")}
    ) as (_, reader):
        assert set(names(await reader.until_listed(CONFIG_MAP))) == {"one", "three"}
        body = {"metadata": {"labels": {"left": "yes"}}}
        path = f"/api/v1/namespaces/{namespace}/configmaps/three"
        await asyncio.to_thread(control_plane.api.merge, path, body)
        changes = await reader.until_named("three")
    assert isinstance(changes[-1], Deleted)


async def test_a_type_is_read_in_the_version_that_is_requested(
    control_plane: ControlPlane, client: KubeClient, group: str, namespace: str
) -> None:
    thing = f"{group}/Thing"
    await apply_crd(control_plane.api, crd("things", "Thing", group=group, versions=("v1", "v1beta1")))
    await put_thing(control_plane, group, namespace, "first")
    async with wanting(client, {thing}, {thing: Selection(version="v1beta1")}) as (_, reader):
        changes = await reader.until_named("first")
    assert isinstance(changes[-1], Upserted)
    assert changes[-1].objects[0]["apiVersion"] == f"{group}/v1beta1"


async def test_a_type_that_is_no_longer_wanted_is_removed(
    control_plane: ControlPlane, client: KubeClient, namespace: str
) -> None:
    async with wanting(client, {CONFIG_MAP, "core/Service"}) as (source, reader):
        await reader.until_listed(CONFIG_MAP)
        if Listed("core/Service") not in reader.seen:
            await reader.until_listed("core/Service")
        source.want({"core/Service"})
        removed = await reader.until_listed(CONFIG_MAP)
        await put_config_map(control_plane.api, namespace, "unseen", {})
        source.want({"core/Service", "core/Namespace"})
        after = await reader.until_listed("core/Namespace")
        source.want({CONFIG_MAP})
        again = await reader.until_listed(CONFIG_MAP)
    assert of_type(removed, CONFIG_MAP)[-2:] == [Listing(CONFIG_MAP), Listed(CONFIG_MAP)]
    assert of_type(after, CONFIG_MAP) == []
    assert "unseen" in names(again)


async def test_relisting_leaves_out_waiting_changes_and_tells_everything_again(
    control_plane: ControlPlane, client: KubeClient, group: str, namespace: str
) -> None:
    thing = f"{group}/Thing"
    await apply_crd(control_plane.api, crd("things", "Thing", group=group))
    await put_thing(control_plane, group, namespace, "first")
    async with wanting(client, {thing, CONFIG_MAP}) as (source, reader):
        await reader.until(lambda change: change == Listing(thing))  # its Listed waits, and must not be reported alone
        await asyncio.sleep(0.5)
        source.relist()
        again = await reader.until_listed(thing)
        if Listed(CONFIG_MAP) not in again:
            again += await reader.until_listed(CONFIG_MAP)
        source.want({CONFIG_MAP})
        await asyncio.sleep(0.5)
        source.relist()  # leaves out that the type was removed, too
        removed = await reader.until_listed(thing)
    assert source.listings[FIRST] == 2
    assert source.listings[REFILL] >= 2
    assert of_type(again, thing)[0] == Listing(thing)
    assert names(of_type(again, thing)) == ["first"]
    assert of_type(again, CONFIG_MAP)[0] == Listing(CONFIG_MAP)
    assert of_type(removed, thing) == [Listing(thing), Listed(thing)]


async def test_a_slow_reader_loses_nothing(control_plane: ControlPlane, client: KubeClient, namespace: str) -> None:
    async with wanting(client, {CONFIG_MAP}) as (_, reader):
        await reader.until_listed(CONFIG_MAP)
        for number in range(100):
            await put_config_map(control_plane.api, namespace, f"slow-{number:03}", {})
        changes = await reader.until_named("slow-099")
    assert [name for name in names(changes) if name.startswith("slow-")] == [f"slow-{n:03}" for n in range(100)]


async def test_stopping_leaves_no_task_behind(client: KubeClient) -> None:
    before = asyncio.all_tasks()
    async with wanting(client, {CONFIG_MAP, HTTP_ROUTE, "nobody.example.com/Nothing"}) as (_, reader):
        await reader.until_listed(CONFIG_MAP)
        assert len(asyncio.all_tasks()) > len(before)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


@pytest.mark.long
async def test_an_api_server_that_is_unavailable_at_the_start_is_waited_for(bare_control_plane: ControlPlane) -> None:
    plane = bare_control_plane
    await asyncio.to_thread(plane.stop_api_server)
    async with await KubeClient.connect(plane.kubeconfig) as client, wanting(client, {CONFIG_MAP}) as (_, reader):
        reported = await reader.until_trouble()
        listing = asyncio.create_task(reader.until_listed(CONFIG_MAP))
        await asyncio.to_thread(plane.start_api_server)
        async with asyncio.timeout(300):
            await listing
    assert isinstance(reported, Trouble)
    assert f"{plane.url} refuses connections" in reported.message


@pytest.mark.long
async def test_an_api_server_that_starts_is_not_taken_for_one_without_crds(own_control_plane: ControlPlane) -> None:
    """It answers before it knows its CRDs: OPA would lose all their objects for a while."""
    plane = own_control_plane
    namespace = await make_namespace(plane.api)
    last = Key("core", "ConfigMap", namespace, "last")
    async with (
        await KubeClient.connect(plane.kubeconfig) as client,
        wanting(client, {CONFIG_MAP, HTTP_ROUTE}) as (source, reader),
    ):
        await reader.until_listed(HTTP_ROUTE)
        following = asyncio.create_task(reader.until(lambda change: change == Deleted(CONFIG_MAP, last), 60))
        for _ in range(3):
            restarting = asyncio.create_task(asyncio.to_thread(plane.restart_api_server))
            while not restarting.done():
                source.relist()  # begins with a look at what is served
                await asyncio.sleep(0.03)
            await restarting
        source.relist()
        while not following.done():  # what is created and deleted between two watches is not reported
            await put_config_map(plane.api, namespace, "last", {})
            await asyncio.sleep(0.3)
            await delete_config_map(plane.api, namespace, "last")
        await following
    assert [change for change in reader.seen if isinstance(change, Trouble) and change.absent] == []


async def test_has_one_reader(client: KubeClient) -> None:
    async with wanting(client, {CONFIG_MAP}) as (source, reader):
        await reader.until_listed(CONFIG_MAP)
        with pytest.raises(RuntimeError, match="one reader"):
            await anext(source.changes())
