"""Listing and watching one type of a real API server, with the faults of networks and servers."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.kube import listwatch
from bridge.kube.kube_client import KubeClient, Read
from bridge.kube.kube_errors import NotFound, TimedOut
from bridge.kube.listwatch import Pace, list_and_watch
from bridge.model.changes import Deleted, Listed, Listing, Trouble, Upserted
from bridge.model.keys import Key
from bridge.model.types import ResourceType
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import (
    CONFIG_MAPS,
    delete_config_map,
    make_namespace,
    put_config_map,
    put_config_maps,
)
from tests.integration.proxy import BROKEN_CHUNKS, Proxy
from tests.integration.reading import Reader, names, reading, whole

# A type of which no test makes objects, and that no test grants.
POD_TEMPLATES = ResourceType("core", "v1", "PodTemplate", "podtemplates", namespaced=True)
STANDARD = Pace()
PAGES = Pace(streams=False)


@asynccontextmanager
async def watching(client: KubeClient, pace: Pace = STANDARD) -> AsyncIterator[Reader]:
    """A reader of the changes of ConfigMaps after their first listing."""
    async with reading(list_and_watch(client, CONFIG_MAPS, pace)) as reader:
        await reader.until_listed("core/ConfigMap")
        yield reader


async def trouble_of(reader: Reader, fault: Awaitable[Any]) -> Trouble:
    """The Trouble that a fault causes in a watch that has begun."""
    trouble = asyncio.create_task(reader.until_trouble())
    await asyncio.sleep(0.3)
    await fault
    return await trouble


class Requests:
    """What a client asks for from now on, in order: the parameters of each request."""

    def __init__(self, client: KubeClient) -> None:
        self.params: list[Mapping[str, str]] = []
        request, stream = client.request, client.stream

        async def note_request(method: str, path: str, *, params: Mapping[str, str], **more: Any) -> bytes:
            self.params.append(dict(params))
            return await request(method, path, params=params, **more)

        def note_stream(path: str, params: Mapping[str, str], **limits: float) -> AbstractAsyncContextManager[Read]:
            self.params.append(dict(params))
            return stream(path, params, **limits)

        client.request, client.stream = note_request, note_stream  # type: ignore[assignment, method-assign]


@pytest.mark.parametrize("pace", [STANDARD, PAGES], ids=["streamed", "in pages"])
async def test_every_object_is_listed_and_the_listing_is_the_beginning_of_the_watch(
    control_plane: ControlPlane, client: KubeClient, namespace: str, pace: Pace
) -> None:
    expected = await put_config_maps(control_plane.api, namespace, 520)
    requested = Requests(client)
    async with reading(list_and_watch(client, CONFIG_MAPS, pace)) as reader:
        changes = await reader.until_listed("core/ConfigMap")
        await put_config_map(control_plane.api, namespace, "later", {})
        await reader.until_named("later")
    pieces = [change for change in changes if isinstance(change, Upserted)]
    found = [obj for piece in pieces for obj in piece.objects if obj["metadata"]["namespace"] == namespace]
    assert changes[0] == Listing("core/ConfigMap")
    assert sorted(obj["metadata"]["name"] for obj in found) == expected
    assert {(obj["apiVersion"], obj["kind"]) for obj in found} == {("v1", "ConfigMap")}
    if pace is PAGES:
        assert len(pieces) > 1
        assert len(pieces[0].objects) == 500
    else:
        assert [params.get("sendInitialEvents") for params in requested.params] == ["true"]


@pytest.mark.long
async def test_an_api_server_that_cannot_stream_a_listing_is_requested_in_pages(
    bare_control_plane: ControlPlane,
) -> None:
    plane = bare_control_plane
    plane.flags = ("--feature-gates=WatchList=false,WatchListClient=false",)
    await asyncio.to_thread(plane.restart_api_server)
    namespace = await make_namespace(plane.api)
    expected = await put_config_maps(plane.api, namespace, 3)
    async with await KubeClient.connect(plane.kubeconfig) as client:
        requested = Requests(client)
        async with reading(list_and_watch(client, CONFIG_MAPS, Pace(page=2))) as reader:
            changes = await reader.until_listed("core/ConfigMap")
            await put_config_map(plane.api, namespace, "later", {})
            await reader.until_named("later")
    assert sorted(name for name in names(changes) if name.startswith("map-")) == expected
    assert reader.troubles == []
    assert ["sendInitialEvents" in params for params in requested.params] == [True, False, False, False]


async def test_a_streamed_listing_that_falls_silent_is_requested_in_pages(
    control_plane: ControlPlane, namespace: str, proxied: KubeClient, proxy: Proxy
) -> None:
    await put_config_map(control_plane.api, namespace, "large", {"text": "x" * 300_000})
    requested = Requests(proxied)
    proxy.freeze_next_after = 50_000
    async with reading(list_and_watch(proxied, CONFIG_MAPS, Pace(first_silence=0.5))) as reader:
        changes = await reader.until_listed("core/ConfigMap")
    assert reader.troubles == []
    assert "large" in names(changes)
    assert ["sendInitialEvents" in params for params in requested.params][:2] == [True, False]


async def test_tells_creation_change_and_deletion_in_order(
    control_plane: ControlPlane, client: KubeClient, namespace: str
) -> None:
    async with watching(client) as reader:
        await put_config_map(control_plane.api, namespace, "one", {"state": "new"})
        created = (await reader.until_named("one"))[-1]
        await put_config_map(control_plane.api, namespace, "one", {"state": "changed"})
        changed = (await reader.until_named("one"))[-1]
        await delete_config_map(control_plane.api, namespace, "one")
        deleted = (await reader.until_named("one"))[-1]
    assert [whole(created)["data"], whole(changed)["data"]] == [{"state": "new"}, {"state": "changed"}]
    assert deleted == Deleted("core/ConfigMap", Key("core", "ConfigMap", namespace, "one"))


async def test_a_burst_becomes_few_changes(control_plane: ControlPlane, client: KubeClient, namespace: str) -> None:
    async with watching(client) as reader:
        await put_config_map(control_plane.api, namespace, "before", {})
        await reader.until_named("before")
        await put_config_maps(control_plane.api, namespace, 200, prefix="burst")
        await put_config_map(control_plane.api, namespace, "last", {})
        changes = await reader.until_named("last")
    assert len([name for name in names(changes) if name.startswith("burst")]) == 200
    assert len(changes) < 20


async def test_an_object_larger_than_half_a_mebibyte_arrives(
    control_plane: ControlPlane, client: KubeClient, namespace: str
) -> None:
    async with watching(client) as reader:
        await put_config_map(control_plane.api, namespace, "large", {"text": "x" * 900_000})
        change = (await reader.until_named("large"))[-1]
    assert len(whole(change)["data"]["text"]) == 900_000


async def test_a_stream_that_the_server_ends_continues_where_it_was(
    control_plane: ControlPlane, client: KubeClient, namespace: str
) -> None:
    async with watching(client, Pace(watch=1)) as reader:
        for number in range(4):
            await put_config_map(control_plane.api, namespace, f"later-{number}", {})
            await asyncio.sleep(0.7)
        changes = await reader.until_named("later-3")
    assert names(changes) == [f"later-{number}" for number in range(4)]
    assert Listing("core/ConfigMap") not in changes


async def test_a_connection_that_froze_is_replaced(
    control_plane: ControlPlane, namespace: str, proxied: KubeClient, proxy: Proxy
) -> None:
    async with watching(proxied, Pace(silence=1)) as reader:
        reached = asyncio.create_task(reader.until_named("unseen"))
        await asyncio.sleep(0.5)
        proxy.freeze()
        await put_config_map(control_plane.api, namespace, "unseen", {})
        changes = await reached
    assert names(changes) == ["unseen"]
    assert Listing("core/ConfigMap") not in changes


@pytest.fixture
async def meddling(control_plane: ControlPlane) -> AsyncIterator[Proxy]:
    """A proxy that can change what the API server sends."""
    trust = ssl.create_default_context(cadata=control_plane.certificate_authority.read_text())
    async with Proxy(control_plane.url, trust) as between:
        yield between


@pytest.fixture
async def meddled(control_plane: ControlPlane, meddling: Proxy, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """An admin's client that connects through `meddling`."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "meddling", control_plane.token, meddling.url)
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest.mark.parametrize("text", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS)
async def test_a_watch_with_broken_bytes_is_replaced_within_seconds(
    control_plane: ControlPlane, namespace: str, meddled: KubeClient, meddling: Proxy, text: bytes
) -> None:
    """The HTTP library closes the connection, but does not wake the one who reads."""
    async with watching(meddled) as reader:
        reached = asyncio.create_task(reader.until(lambda change: "after" in names([change]), 20))
        await asyncio.sleep(0.5)
        meddling.insert(text)
        await put_config_map(control_plane.api, namespace, "broken", {})
        await put_config_map(control_plane.api, namespace, "after", {})
        changes = await reached
    assert {"broken", "after"} <= set(names(changes))


async def test_a_watch_of_empty_lines_ends_in_time(
    control_plane: ControlPlane, namespace: str, meddled: KubeClient, meddling: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is never silent, and the server's end of the watch does not arrive."""
    monkeypatch.setattr(listwatch, "_OVERTIME", 1)
    async with watching(meddled, Pace(watch=2)) as reader:
        reached = asyncio.create_task(reader.until(lambda change: "after" in names([change]), 20))
        await asyncio.sleep(0.5)
        meddling.freeze()
        await put_config_map(control_plane.api, namespace, "after", {})
        for _ in range(50):
            meddling.write(b"1\r\n\n\r\n")
            await asyncio.sleep(0.2)
        changes = await reached
    assert names(changes) == ["after"]


@pytest.mark.parametrize("status", [200, 500])
async def test_a_response_that_never_ends_is_given_up_in_time(
    meddled: KubeClient, meddling: Proxy, status: int
) -> None:
    meddling.answer_next = b"HTTP/1.1 %d OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" % status
    with pytest.raises(TimedOut):
        await asyncio.wait_for(meddled.get("/api/v1/namespaces", timeout=1), 10)


_GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}\n'
)
_EXPIRED = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(_GONE) + _GONE


async def test_watches_that_expire_one_after_the_other_are_requested_ever_less_often(
    control_plane: ControlPlane, namespace: str, meddled: KubeClient, meddling: Proxy
) -> None:
    async def expire() -> None:
        while True:
            meddling.answer_next = _EXPIRED
            await asyncio.sleep(0.001)

    async with watching(meddled) as reader:
        following = asyncio.create_task(reader.until_named("late"))
        expiring = asyncio.create_task(expire())
        accepted = meddling.accepted
        meddling.cut()
        await asyncio.sleep(3)
        assert 2 <= meddling.accepted - accepted <= 12  # 0.1 s, doubled each time
        expiring.cancel()
        meddling.answer_next = b""
        await put_config_map(control_plane.api, namespace, "late", {})
        assert "late" in names(await following)


async def test_a_watch_that_is_accepted_and_never_answered_is_requested_again(
    control_plane: ControlPlane, namespace: str, proxied: KubeClient, proxy: Proxy
) -> None:
    """As with a server that dies, or a proxy without its server: the timeout doubles."""
    async with watching(proxied, Pace(opening=0.2)) as reader:
        trouble = asyncio.create_task(reader.until_trouble())
        await asyncio.sleep(0.3)
        proxy.mute = True
        proxy.cut()
        accepted = proxy.accepted
        reported = await trouble
        following = asyncio.create_task(reader.until_named("unseen"))
        await put_config_map(control_plane.api, namespace, "unseen", {})
        await eventually(lambda: proxy.accepted >= accepted + 3)
        proxy.mute = False
        changes = await following
    assert "did not respond in time" in reported.message
    assert Listing("core/ConfigMap") not in changes


@pytest.mark.long
async def test_lists_again_after_its_history_expired(bare_control_plane: ControlPlane, tmp_path: Path) -> None:
    plane = bare_control_plane
    namespace = await make_namespace(plane.api)
    await put_config_maps(plane.api, namespace, 3)
    async with Proxy(plane.url) as proxy:
        kubeconfig = plane.write_kubeconfig(tmp_path / "through-proxy", plane.token, proxy.url)
        async with await KubeClient.connect(kubeconfig) as client, watching(client, Pace(page=2)) as reader:
            await trouble_of(reader, proxy.refuse())
            await delete_config_map(plane.api, namespace, "map-0001")
            await asyncio.to_thread(plane.forget_history)
            await proxy.serve()
            changes = await reader.until_listed("core/ConfigMap")
    again = changes[changes.index(Listing("core/ConfigMap")) :]
    assert [name for name in names(again) if name.startswith("map-")] == ["map-0000", "map-0002"]


@pytest.mark.long
async def test_an_api_server_that_comes_back_is_noticed_within_two_seconds(bare_control_plane: ControlPlane) -> None:
    plane = bare_control_plane
    namespace = await make_namespace(plane.api)
    async with await KubeClient.connect(plane.kubeconfig) as client, watching(client) as reader:
        reported = await trouble_of(reader, asyncio.to_thread(plane.stop_api_server))
        waiting = asyncio.create_task(reader.until_named("after"))
        await asyncio.sleep(3)
        await asyncio.to_thread(plane.start_api_server)
        ready = time.monotonic()
        await put_config_map(plane.api, namespace, "after", {})
        changes = await waiting
        assert time.monotonic() - ready < 2
    origin = f"kubeconfig {plane.kubeconfig}, context test"
    remedy = f"check that the API server runs, and its address in {origin}"
    assert reported.message.startswith(plane.url)  # refuses connections, or has just reset one
    assert reported.message.endswith(remedy)
    assert len([change for change in changes if isinstance(change, Trouble)]) < 8


async def test_a_watch_that_is_open_again_ends_its_trouble(proxied: KubeClient, proxy: Proxy) -> None:
    async with watching(proxied) as reader:
        await trouble_of(reader, proxy.refuse())
        await proxy.serve()
        changes = await reader.until(lambda change: not isinstance(change, Trouble))
    assert changes[-1] == Upserted("core/ConfigMap", ())


async def test_a_type_that_is_not_served_is_not_found(client: KubeClient) -> None:
    unknown = ResourceType("nobody.example.com", "v1", "Thing", "things", namespaced=True)
    async with reading(list_and_watch(client, unknown)) as reader:
        with pytest.raises(NotFound):
            await reader.until_listed(unknown.id)


@pytest.mark.parametrize(
    ("token", "said"),
    [
        pytest.param(LIMITED_TOKEN, "grant the bridge get, list and watch on them", id="no rights"),
        pytest.param("no-such-token", "renew them", id="wrong token"),
    ],
)
async def test_a_refusal_is_reported_once_with_a_fix(
    control_plane: ControlPlane, tmp_path: Path, token: str, said: str
) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", token)
    async with await KubeClient.connect(kubeconfig) as client, reading(list_and_watch(client, POD_TEMPLATES)) as reader:
        reported = await reader.until_trouble()
        with pytest.raises(AssertionError, match="received only \\[\\]"):
            await reader.until(lambda _: True, patience=2)
    assert said in reported.message
    assert reader.seen == [reported]


async def test_a_token_that_expired_is_replaced_silently_where_its_file_has_another(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("expired")
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", "@")
    kubeconfig.write_text(kubeconfig.read_text().replace('"token": "@"', f'"tokenFile": "{token}"'))
    async with await KubeClient.connect(kubeconfig) as client:
        token.write_text(control_plane.token)
        async with reading(list_and_watch(client, POD_TEMPLATES)) as reader:
            assert await reader.until_listed(POD_TEMPLATES.id) == [Listing(POD_TEMPLATES.id), Listed(POD_TEMPLATES.id)]
