"""Events on a real API server: what a person sees of an object with kubectl."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.kube import recording
from bridge.kube.kube_client import KubeClient
from bridge.kube.recording import Recorder
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import fresh_name, make_namespace, put_config_map
from tests.integration.proxy import Proxy
from tests.working import working

Objects = list[dict[str, Any]]


@pytest.fixture
async def config_map(control_plane: ControlPlane, namespace: str) -> dict[str, Any]:
    obj: dict[str, Any] = await put_config_map(control_plane.api, namespace, "one", {"a": "1"})
    return obj


@asynccontextmanager
async def running(client: KubeClient) -> AsyncIterator[Recorder]:
    recorder = Recorder(client, "policybridge.io/bridge")
    async with working(recorder.run):
        yield recorder


async def events_in(client: KubeClient, namespace: str) -> Objects:
    return list((await client.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"))["items"])


async def until(client: KubeClient, namespace: str, fits: Callable[[Objects], bool]) -> Objects:
    return await eventually(lambda: events_in(client, namespace), fits)


async def test_kubectl_describe_shows_it_of_a_cluster_scoped_object(
    control_plane: ControlPlane, kubectl_path: Path, client: KubeClient
) -> None:
    name = await make_namespace(control_plane.api)
    namespace = {"apiVersion": "v1", "kind": "Namespace", **(await client.get(f"/api/v1/namespaces/{name}"))}
    message = f"about {name}"
    async with running(client) as recorder:
        recorder.record(namespace, "Normal", "Seen", message)
        await until(client, "default", lambda found: any(event["note"] == message for event in found))
    # describe looks for Events of a Namespace within it; by the object they are found all the same
    shown = await asyncio.to_thread(
        Kubectl(kubectl_path, control_plane), "events", "-n", "default", "--for", f"namespace/{name}"
    )
    assert message in shown


async def test_a_repeated_report_is_one_event_with_a_count(
    client: KubeClient, config_map: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "HEARTBEAT", 0.2)
    namespace = config_map["metadata"]["namespace"]
    async with running(client) as recorder:
        recorder.record(config_map, "Warning", "Again", "the same")
        await until(client, namespace, lambda found: len(found) == 1)
        for _ in range(100):
            recorder.record(config_map, "Warning", "Again", "the same")
        recorder.record(config_map, "Warning", "Again", "another")
        found = await until(
            client,
            namespace,
            lambda found: len(found) == 2 and any((event.get("series") or {}).get("count") == 101 for event in found),
        )
        recorder.record(config_map, "Warning", "Again", "the same")
        await until(
            client, namespace, lambda found: any((event.get("series") or {}).get("count") == 102 for event in found)
        )
    assert sorted(event["note"] for event in found) == ["another", "the same"]


async def test_replicas_and_restarts_write_one_event_for_one_thing(
    client: KubeClient, config_map: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = config_map["metadata"]["namespace"]
    async with running(client) as one, running(client) as other:
        for recorder in (one, other):
            recorder.record(config_map, "Warning", "Rejected", "the same")
        await eventually(lambda: not (one.waiting or other.waiting))
        (event,) = await events_in(client, namespace)
        assert (event.get("series") or {}).get("count", 1) == 1
    monkeypatch.setattr(recording, "HEARTBEAT", 0.0)
    async with running(client) as restarted:
        restarted.record(config_map, "Warning", "Rejected", "the same")
        await until(client, namespace, lambda found: (found[0].get("series") or {}).get("count") == 2)
    assert len(await events_in(client, namespace)) == 1


async def test_a_deleted_event_is_written_again(client: KubeClient, config_map: dict[str, Any]) -> None:
    namespace = config_map["metadata"]["namespace"]
    async with running(client) as recorder:
        recorder.record(config_map, "Warning", "Again", "the same")
        (event,) = await until(client, namespace, lambda found: len(found) == 1)
        await client.delete(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{event['metadata']['name']}")
        recorder.record(config_map, "Warning", "Again", "the same")
        (event,) = await until(client, namespace, lambda found: len(found) == 1)
        assert event["series"]["count"] == 2


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        pytest.param("a" * 1024, "a" * 1024, id="as long as may be"),
        pytest.param("a" * 1025, "a" * 1021 + "…", id="too long"),
        pytest.param("é" * 1000, "é" * 510 + "…", id="within a letter"),
        pytest.param("line\nline \ud800", "line\nline ?", id="no text that can be sent"),
    ],
)
async def test_a_message_is_cut_to_the_limit_of_the_api_server(
    client: KubeClient, config_map: dict[str, Any], message: str, kept: str
) -> None:
    async with running(client) as recorder:
        recorder.record(config_map, "Normal", "Long", message)
        (event,) = await until(client, config_map["metadata"]["namespace"], lambda found: len(found) == 1)
    assert event["note"] == kept


async def test_no_bad_object_raises_or_keeps_others_from_being_reported(
    client: KubeClient, config_map: dict[str, Any]
) -> None:
    async with running(client) as recorder:
        recorder.record({}, "Normal", "Empty", "no object")
        recorder.record({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "Normal", "Nameless", "no name")
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": fresh_name("gone")}}
        recorder.record(gone, "Normal", "Gone", "its namespace was deleted")
        recorder.record(config_map, "Normal", "not CamelCase\n" * 100, "a wrong reason")
        odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**config_map["metadata"], "name": "system:odd"}}
        recorder.record(odd, "Normal", "Odd", "a name that no Event may have")
        recorder.record(config_map, "Normal", "Last", "reported")
        found = await until(
            client, config_map["metadata"]["namespace"], lambda found: "Last" in {event["reason"] for event in found}
        )
    assert {"Odd", "Last"} <= {event["reason"] for event in found}


ODD = {
    "no time": {},
    "a time after the year 9999": {"eventTime": "9999-12-31T23:59:59.000000-23:59"},
    "a time in the year 0": {"eventTime": "0000-01-01T00:00:00.000000Z"},
    "the largest count": {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "series": {"count": 2**31 - 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
    },
}


@pytest.mark.parametrize("times", ODD.values(), ids=ODD)
async def test_odd_event_of_another_client_under_the_same_name_stops_no_other_event(
    client: KubeClient, config_map: dict[str, Any], times: dict[str, Any]
) -> None:
    namespace = config_map["metadata"]["namespace"]
    async with running(client) as recorder:
        recorder.record(config_map, "Warning", "Rejected", "the same")
        (event,) = await until(client, namespace, lambda found: len(found) == 1)
    name = event["metadata"]["name"]
    await client.delete(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}")
    regarding = {"involvedObject": event["regarding"], "reason": "Rejected", "message": "the same", "type": "Warning"}
    reporter = {"reportingComponent": "a.example/b", "reportingInstance": "c", "action": "Rejected"} if times else {}
    body = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, **regarding, **reporter, **times}
    await client.post(f"/api/v1/namespaces/{namespace}/events", body)
    async with running(client) as recorder:
        recorder.record(config_map, "Warning", "Rejected", "the same")
        recorder.record(config_map, "Warning", "Rejected", "another")
        await until(client, namespace, lambda found: any(event["note"] == "another" for event in found))
        await eventually(lambda: not recorder.waiting)


async def test_that_rbac_forbids_it_is_reported_once(limited: KubeClient, config_map: dict[str, Any]) -> None:
    with capture_logs() as logs:
        async with running(limited) as recorder:
            for number in range(3):
                recorder.record(config_map, "Normal", "Forbidden", str(number))
            await eventually(lambda: not recorder.waiting)
    reported = [line for line in logs if line["event"].startswith("cannot write Events")]
    assert len(reported) == 1


async def test_it_is_written_when_the_api_server_is_back(
    client: KubeClient, proxied: KubeClient, proxy: Proxy, config_map: dict[str, Any], namespace: str
) -> None:
    await proxy.refuse()
    async with running(proxied) as recorder:
        recorder.record(config_map, "Normal", "Later", "reported while the API server was down")
        await asyncio.sleep(0.7)
        await proxy.serve()
        await until(client, namespace, lambda found: len(found) == 1)


async def test_endless_reports_are_bounded(
    client: KubeClient, config_map: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BURST", 5)
    monkeypatch.setattr(recording, "ROOM", 20)
    with capture_logs() as logs:
        async with running(client) as recorder:
            for number in range(1000):
                recorder.record(config_map, "Normal", "Many", str(number))
            assert len(recorder._events) == recorder.waiting == 20
            found = await until(client, config_map["metadata"]["namespace"], lambda found: len(found) >= 5)
    assert len(found) < 20
    assert [line["event"] for line in logs if "dropped" in line["event"]] == ["Events dropped, rate limit exceeded"]


async def test_an_event_that_makes_room_while_it_waits_is_left_out(
    client: KubeClient, config_map: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BURST", 1)
    monkeypatch.setattr(recording, "ROOM", 2)
    async with running(client) as recorder:
        for number in range(100):
            recorder.record(config_map, "Normal", "Many", str(number))
            await asyncio.sleep(0.01)
        recorder.record(config_map, "Normal", "Last", "the last")
        namespace = config_map["metadata"]["namespace"]
        await until(client, namespace, lambda found: any(event["note"] == "the last" for event in found))


async def test_flood_of_one_reason_delays_and_drops_no_event_of_another(
    control_plane: ControlPlane, client: KubeClient, config_map: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BURST", 3)
    monkeypatch.setattr(recording, "ROOM", 20)
    other = await put_config_map(control_plane.api, await make_namespace(control_plane.api), "other", {})
    async with running(client) as recorder:
        recorder.record(other, "Normal", "Real", "reported before")
        for number in range(200):
            recorder.record(config_map, "Warning", "Flood", str(number))
        recorder.record(config_map, "Normal", "Real", "reported after")
        assert recorder.waiting == 20
        # Three requests at once: one of each group.
        await until(client, other["metadata"]["namespace"], lambda found: len(found) == 1)
        found = await until(client, config_map["metadata"]["namespace"], lambda found: len(found) >= 2)
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        assert "Real" in {event["reason"] for event in found[:2]}
        assert recorder.results["dropped"] == 182
