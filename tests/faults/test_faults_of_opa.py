"""Faults of OPA while a cluster is busy. Each test ends with OPA equal to the API server, object by object."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.opa.bundle import opa_config
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.process import ManagedOpa
from tests.bundle_trust import shared_trust
from tests.controlplane.plane import ControlPlane
from tests.controlplane.process import ServerProcess
from tests.eventually import eventually
from tests.faults.loaded_cluster import LISTED, Reader, bridge, busy, load_of, until_equal
from tests.freezing import freeze
from tests.integration.faulty_opa import Fault, FaultyOpa, lose, lose_answer, refuse
from tests.processes import opa_below
from tests.warm_opa import whole_bundle

pytestmark = pytest.mark.long


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[ManagedOpa]:
    async with ManagedOpa(opa_path, {}, bundle=whole_bundle()) as managed:
        yield managed


@contextlib.asynccontextmanager
async def logging_opa(opa_path: Path, folder: Path, log: Path, port: int) -> AsyncIterator[str]:
    """An OPA that writes all of its log, decisions included, to a file; gives its URL."""
    config, bundle = folder / "config.json", folder / "bundle.tar.gz"
    config.write_text('{"decision_logs": {"console": true}}')
    bundle.write_bytes(whole_bundle().content)
    command = [str(opa_path), "run", "--server", "--addr", f"127.0.0.1:{port}", "--config-file", str(config)]
    process = ServerProcess([*command, "--log-level", "info", "--bundle", str(bundle)], log)
    url = f"http://127.0.0.1:{port}"
    try:
        async with Opa(url) as direct, asyncio.timeout(300):
            while True:
                with contextlib.suppress(OpaError):
                    if await direct.is_ready():
                        break
                await asyncio.sleep(0.05)
        yield url
    finally:
        process.kill()


async def take(pipe: int) -> None:
    """Read what comes through a pipe."""
    while True:
        with contextlib.suppress(BlockingIOError):
            os.read(pipe, 1 << 20)
        await asyncio.sleep(0.005)


def kill_opa(opa: ManagedOpa) -> int:
    """Kill OPA as the kernel does when memory is short, and return its port."""
    victim = opa_below(opa.pid)
    assert victim is not None
    os.kill(victim, signal.SIGKILL)
    return int(opa.url.rpartition(":")[2])


@pytest.mark.parametrize("moment", ["idle", "in the initial sync", "in a burst"])
async def test_opa_is_killed(control_plane: ControlPlane, opa: ManagedOpa, opa_path: Path, moment: str) -> None:
    load = await load_of(control_plane, seed=10)
    async with (
        bridge(control_plane.kubeconfig, opa.url, list(LISTED)) as one,
        Reader(opa.url, load).looking(),
        load.running(),
    ):
        if moment != "in the initial sync":
            await one.filled()
            await asyncio.sleep(2)
        if moment == "idle":
            load.stop()
            await asyncio.sleep(1)
        port = kill_opa(opa)
        await opa.exited()
        async with ManagedOpa(opa_path, {}, bundle=whole_bundle(), port=port) as again, Opa(again.url) as direct:
            await asyncio.sleep(2)
            load.stop()
            await until_equal(control_plane, direct)
            await one.filled()


async def test_opa_is_frozen_in_a_burst(control_plane: ControlPlane, opa: ManagedOpa) -> None:
    async with busy(control_plane, opa.url, 20) as one:
        frozen = opa_below(opa.pid)
        assert frozen is not None
        await asyncio.sleep(1)
        freeze(frozen)
        await asyncio.sleep(12)  # longer than the bridge waits for an answer
        os.kill(frozen, signal.SIGCONT)
        await asyncio.sleep(2)
    assert one.fills == 1  # nothing was listed again


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lose, id="lost"),
        pytest.param(lose_answer, id="answer lost"),
        pytest.param(refuse(500), id="500"),
        pytest.param(refuse(429), id="429"),
    ],
)
async def test_writes_fail_in_a_burst(control_plane: ControlPlane, opa: ManagedOpa, fault: Fault) -> None:
    async with (
        FaultyOpa(opa.url).serving() as faulty,
        busy(control_plane, faulty.url, 30, direct=opa.url) as one,
    ):
        for _ in range(6):
            await asyncio.sleep(0.3)
            faulty.fault = fault
            await asyncio.sleep(0.2)
            faulty.fault = None
    assert one.fills == 1


async def test_opa_is_slow_in_a_burst(control_plane: ControlPlane, opa: ManagedOpa) -> None:
    load = await load_of(control_plane, seed=35)
    async with (
        FaultyOpa(opa.url).serving() as faulty,
        Opa(opa.url) as direct,
        bridge(control_plane.kubeconfig, faulty.url, list(LISTED)) as one,
    ):
        await one.filled()
        faulty.patches.clear()
        faulty.delay = 0.4
        async with load.running(), Reader(opa.url, load).looking():
            await asyncio.sleep(4)
        await until_equal(control_plane, direct)
        await one.filled()
        assert one.fills == 1
        assert len(faulty.changes()) < load.made  # what comes while a write is under way is joined


async def test_the_disk_of_opas_log_is_full(
    control_plane: ControlPlane, opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    """It continues: only log lines are lost."""
    async with (
        logging_opa(opa_path, tmp_path, Path("/dev/full"), unused_tcp_port) as url,
        busy(control_plane, url, 36) as one,
    ):
        await asyncio.sleep(3)
    assert one.fills == 1


async def test_no_client_takes_opas_log(
    control_plane: ControlPlane, opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    """It stops while the pipe is full, and continues later."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    taking = asyncio.create_task(take(reading))
    try:
        async with (
            logging_opa(opa_path, tmp_path, pipe, unused_tcp_port) as url,
            busy(control_plane, url, 37) as one,
        ):
            await asyncio.sleep(1)
            taking.cancel()
            await eventually(lambda: not one.replicator.filled.is_set(), patience=60)
            await asyncio.sleep(2)
            taking = asyncio.create_task(take(reading))
            await asyncio.sleep(1)
        assert one.fills == 1
    finally:
        taking.cancel()
        os.close(reading)


async def test_a_bridge_is_killed_at_twenty_moments_of_a_load(
    control_plane: ControlPlane, opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    config = opa_config(f"http://127.0.0.1:{unused_tcp_port}", shared_trust())  # it takes its modules from the bridge
    async with ManagedOpa(opa_path, config) as opa:
        await kill_a_bridge(control_plane, opa, tmp_path, unused_tcp_port)


async def kill_a_bridge(control_plane: ControlPlane, opa: ManagedOpa, tmp_path: Path, port: int) -> None:
    """At twenty moments, and compare what the last one leaves."""
    load = await load_of(control_plane, seed=40)
    settings = tmp_path / "bridge.yaml"
    settings.write_text("types: [core/ConfigMap]\n")
    command = [str(Path(sys.executable).parent / "pbctl"), "run", "--config", str(settings), "--opa", opa.url]
    command += ["--kubeconfig", str(control_plane.kubeconfig), "--listen", f"127.0.0.1:{port}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    listed = {
        **LISTED,
        "core/Service": "/api/v1/services",
        **{
            f"{group}/{kind}": f"/apis/{group}/v1/{plural}"
            for group, kind, plural in (
                ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"),
                ("gateway.networking.k8s.io", "Gateway", "gateways"),
                ("gateway.networking.k8s.io", "GatewayClass", "gatewayclasses"),
            )
        },
    }
    async with Opa(opa.url) as direct:
        async with load.running(), Reader(opa.url, load).looking():
            for moment in range(20):
                with (tmp_path / "log").open("ab") as log:
                    process = await asyncio.create_subprocess_exec(*command, stderr=log, env=environment)
                    await asyncio.sleep(0.8 + 0.17 * moment)
                    process.kill()
                    await process.wait()
        with (tmp_path / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(*command, stderr=log, env=environment)
            try:
                await until_equal(control_plane, direct, listed)
            finally:
                process.terminate()
                await process.wait()


async def test_of_two_bridges_on_one_opa_one_continues_when_the_other_stops(
    control_plane: ControlPlane, opa: ManagedOpa
) -> None:
    load = await load_of(control_plane, seed=50)
    async with Opa(opa.url) as direct, bridge(control_plane.kubeconfig, opa.url, list(LISTED), "first") as first:
        await first.filled()
        async with bridge(control_plane.kubeconfig, opa.url, list(LISTED), "second") as second:
            async with load.running(), Reader(opa.url, load).looking():
                await asyncio.sleep(8)
                assert not second.replicator.filled.is_set()
                first.task.cancel()
                await second.filled()
            await until_equal(control_plane, direct)
        first.task = asyncio.create_task(asyncio.sleep(60))
