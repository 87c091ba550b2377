"""Reports on a real API server: what an author sees of his ConfigMap or RegoPolicy, and who writes it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from bridge.kube.kube_client import KubeClient
from bridge.kube.lease import FencedClient, Lease
from bridge.kube.recording import Recorder
from bridge.model.keys import Key
from bridge.model.types import Selection
from bridge.policy_loader import reporter as reporting
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.reporter import RECOVERED, REFUSED, Reporter
from bridge.policy_loader.submissions import CONFIG_MAP, STATUS_ANNOTATION, ModuleProblem
from bridge.sources.cluster import ClusterSource
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import grant_reading, take_rights_away
from tests.unit.policy_loader.hand import HandJudge
from tests.working import working

LABEL = {"openpolicyagent.org/policy": "rego"}
PROBLEM = ModuleProblem("main.rego", 3, 7, "rego_unsafe_var_error", "var x is unsafe")
OK = '{"status":"ok"}'


@dataclass
class Term:
    """A Lease by hand."""

    held: bool
    left: float = 60.0


@dataclass
class Desk:
    """A bridge's authors and reporter, with verdicts by hand."""

    authors: Authors
    judge: HandJudge
    reporter: Reporter
    term: Term


@asynccontextmanager
async def desk(kubeconfig: Path, namespace: str, *, held: bool = True) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(await KubeClient.connect(kubeconfig))
        judge = HandJudge()
        authors = Authors(judge, (namespace,))
        source = ClusterSource(client, {CONFIG_MAP: Selection(namespaces=(namespace,))})
        recorder = Recorder(client, "policybridge.io/bridge")
        term = Term(held)
        writer = Reporter(authors, FencedClient(client, cast("Lease", term)), source.resource, recorder.record)
        async with working(lambda: authors.follow(source), writer.run, recorder.run):
            yield Desk(authors, judge, writer, term)


@asynccontextmanager
async def two_desks(kubeconfig: Path, namespace: str, key: Key) -> AsyncIterator[tuple[Desk, Desk]]:
    """The holder's and another bridge's, which both have a submission."""
    async with desk(kubeconfig, namespace) as first, desk(kubeconfig, namespace, held=False) as second:
        await eventually(lambda: all(key in one.judge.handed for one in (first, second)))
        yield first, second


async def put(plane: ControlPlane, namespace: str, name: str, text: str, labels: Any = None) -> Key:
    metadata = {"name": name, "labels": LABEL if labels is None else labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"main.rego": text}}
    await asyncio.to_thread(plane.api.apply, f"/api/v1/namespaces/{namespace}/configmaps/{name}", body)
    return Key("core", "ConfigMap", namespace, name)


def path_of(key: Key) -> str:
    return f"/api/v1/namespaces/{key.namespace}/configmaps/{key.name}"


async def shown(plane: ControlPlane, key: Key) -> str:
    found = await asyncio.to_thread(plane.api.get, path_of(key))
    return str((found["metadata"].get("annotations") or {}).get(STATUS_ANNOTATION, ""))


async def until_shown(plane: ControlPlane, key: Key, fits: Callable[[str], bool]) -> str:
    return await eventually(lambda: shown(plane, key), fits)


async def test_nothing_is_written_without_a_change(control_plane: ControlPlane, namespace: str) -> None:
    key = await put(control_plane, namespace, "one", "package a")
    async with desk(control_plane.kubeconfig, namespace) as first:
        await eventually(lambda: key in first.judge.handed)
        first.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)
        first.judge.accept(key, revision="r2")
        await asyncio.sleep(1.5)
        assert first.reporter.writes == 1
    async with desk(control_plane.kubeconfig, namespace) as second:
        await eventually(lambda: key in second.judge.handed)
        second.judge.accept(key)
        await asyncio.sleep(1.5)
        assert second.reporter.writes == 0


async def test_only_the_holder_writes_and_its_successor_writes_the_rest(
    control_plane: ControlPlane, namespace: str
) -> None:
    key = await put(control_plane, namespace, "one", "package a")
    async with two_desks(control_plane.kubeconfig, namespace, key) as (first, second):
        second.judge.refuse(key, PROBLEM)
        await asyncio.sleep(1.5)
        assert not await shown(control_plane, key)
        first.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)
        first.term.held, second.term.held = False, True
        await until_shown(control_plane, key, lambda found: "error" in found)
        await eventually(lambda: (first.reporter.writes, second.reporter.writes) == (1, 1))


async def notes(plane: ControlPlane, namespace: str, reason: str) -> list[str]:
    found = await asyncio.to_thread(plane.api.get, f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    return [one["note"] for one in found["items"] if one["reason"] == reason]


async def test_status_names_the_replicas_with_an_opa_that_refuses_accepted_modules(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "READ", 0.2)
    key = await put(control_plane, namespace, "one", "package a")
    async with two_desks(control_plane.kubeconfig, namespace, key) as (first, second):
        second.judge.refuse(key, PROBLEM)
        first.judge.accept(key)
        found = await until_shown(control_plane, key, lambda found: "refusedBy" in found)
        assert json.loads(found) == {"status": "ok", "refusedBy": [socket.gethostname()]}
        (note,) = await notes(control_plane, namespace, REFUSED)
        assert socket.gethostname() in note
        assert "main.rego:3:7: var x is unsafe" in note
        second.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)
        (note,) = await notes(control_plane, namespace, RECOVERED)
        assert note == f"The OPA of the bridge {socket.gethostname()} has this version"


async def test_replica_repeats_refusals_of_its_opa_and_a_gone_replica_is_forgotten(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("READ", 0.2), ("REPEAT", 0.5), ("FORGOTTEN", 5.0)):
        monkeypatch.setattr(reporting, name, seconds)
    key = await put(control_plane, namespace, "one", "package a")
    async with desk(control_plane.kubeconfig, namespace) as first:
        async with desk(control_plane.kubeconfig, namespace, held=False) as second:
            await eventually(lambda: all(key in one.judge.handed for one in (first, second)))
            second.judge.refuse(key, PROBLEM)
            first.judge.accept(key)
            await until_shown(control_plane, key, lambda found: "refusedBy" in found)

            async def is_repeated() -> bool:
                path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
                found = await asyncio.to_thread(control_plane.api.get, path)
                return any(one["reason"] == REFUSED and one.get("series", {}).get("count") for one in found["items"])

            await eventually(is_repeated)
        await until_shown(control_plane, key, lambda found: found == OK)


async def test_invented_events_of_replicas_are_bounded_and_end(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "READ", 0.2)
    key = await put(control_plane, namespace, "one", "package a")
    uid = (await asyncio.to_thread(control_plane.api.get, path_of(key)))["metadata"]["uid"]
    now = datetime.now(UTC)
    times = {
        "year-0": "0000-01-01T00:00:00.000000Z",
        "year-9999": "9999-12-31T23:59:59.000000Z",
        "last-hour": (now - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        **{f"now{number:02}": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for number in range(15)},
    }
    for name, at in times.items():
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name},
            "eventTime": at,
            "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "namespace": namespace, "uid": uid},
            "reason": REFUSED,
            "action": REFUSED,
            "type": "Warning",
            "reportingController": "policybridge.io/bridge",
            "reportingInstance": f"{name}-1",
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}"
        await asyncio.to_thread(control_plane.api.apply, path, event)
    async with desk(control_plane.kubeconfig, namespace) as first:
        await eventually(lambda: key in first.judge.handed)
        first.judge.accept(key)
        found = await until_shown(control_plane, key, lambda found: "refusedBy" in found)
    assert json.loads(found) == {"status": "ok", "refusedBy": [f"now{number:02}" for number in range(10)]}


async def test_data_removed_by_another_client_is_written_again(control_plane: ControlPlane, namespace: str) -> None:
    async with desk(control_plane.kubeconfig, namespace) as one:
        key = await put(control_plane, namespace, "one", "package a")
        await eventually(lambda: key in one.judge.handed)
        one.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)
        patch = {"metadata": {"annotations": {STATUS_ANNOTATION: None}}}
        await asyncio.to_thread(control_plane.api.merge, path_of(key), patch)
        await until_shown(control_plane, key, lambda found: found == OK)


async def test_it_goes_with_the_label(control_plane: ControlPlane, namespace: str) -> None:
    async with desk(control_plane.kubeconfig, namespace) as one:
        key = await put(control_plane, namespace, "one", "package a")
        await eventually(lambda: key in one.judge.handed)
        one.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)
        await put(control_plane, namespace, "one", "package a", labels={})
        await until_shown(control_plane, key, lambda found: not found)
        assert not one.judge.handed


async def test_a_report_that_waits_for_opa_is_logged_after_a_while(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "PATIENCE", 0.5)
    async with desk(control_plane.kubeconfig, namespace) as one:
        key = await put(control_plane, namespace, "one", "package a")
        await eventually(lambda: key in one.judge.handed)
        one.judge.take(key)
        await until_shown(control_plane, key, lambda found: found == '{"status":"pending"}')
        one.judge.accept(key)
        await until_shown(control_plane, key, lambda found: found == OK)


async def test_that_rbac_forbids_it_is_reported_once(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    await grant_reading(control_plane.api, ("", "configmaps"))
    limited = control_plane.write_kubeconfig(tmp_path / "kubeconfig", LIMITED_TOKEN)
    try:
        with capture_logs() as logs:
            async with desk(limited, namespace) as one:
                keys = [await put(control_plane, namespace, name, "package a") for name in ("one", "two")]
                await eventually(lambda: set(keys) <= set(one.judge.handed))
                for key in keys:
                    one.judge.accept(key)
                await eventually(
                    lambda: (
                        sum(one.reporter._queue._failures[key] > 1 for key in (*one.reporter._queue._failures,)) == 2
                    )
                )
    finally:
        await take_rights_away(control_plane.api)
    reported = [line for line in logs if line["event"].startswith("cannot report module status")]
    assert [line["resource"] for line in reported] == ["configmaps"]
