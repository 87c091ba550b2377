import asyncio
import operator
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from bridge.opa.bundle import build_bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaStartError, PortTaken
from bridge.opa.process import ManagedOpa
from tests.eventually import eventually

OWNER = """
import asyncio, sys
from bridge.opa.process import ManagedOpa

async def main():
    opa = ManagedOpa(sys.argv[1], {})
    print(await opa.start(), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_opa_picks_a_port_answers_and_terminates_at_stop(opa_path: Path) -> None:
    managed = ManagedOpa(opa_path, {})
    url = await managed.start()
    assert await answers(url)
    await managed.stop()
    assert not await answers(url)


async def test_stopping_twice_or_before_a_start_does_nothing(opa_path: Path) -> None:
    managed = ManagedOpa(opa_path, {})
    await managed.stop()
    await managed.start()
    await managed.stop()
    await managed.stop()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
async def test_it_ends_when_its_owner_is_killed(opa_path: Path, sign: signal.Signals) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", OWNER, str(opa_path)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert owner.stdout is not None
    url = (await owner.stdout.readline()).decode().strip()
    assert await answers(url)
    owner.send_signal(sign)
    await owner.wait()
    await eventually(lambda: answers(url), operator.not_)


async def test_its_own_end_is_reported(opa_path: Path) -> None:
    managed = ManagedOpa(opa_path, {})
    await managed.start()
    exited = asyncio.create_task(managed.exited())
    await asyncio.sleep(0)
    assert not exited.done()
    os.kill(child_of(managed.pid), signal.SIGKILL)
    assert await asyncio.wait_for(exited, 60) == 128 + signal.SIGKILL
    await managed.stop()


async def test_a_fixed_port_that_is_taken_is_named(opa_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} on 127.0.0.1 is in use"):
            await ManagedOpa(opa_path, {}, port=port).start()


async def test_a_free_port_that_is_taken_meanwhile_gives_way_to_another(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
        probe.close()
        ports = iter([other.getsockname()[1], free])
        monkeypatch.setattr("bridge.opa.process.free_port", lambda: next(ports))
        async with ManagedOpa(opa_path, {}) as managed:
            assert managed.url == f"http://127.0.0.1:{free}"


async def test_another_opa_on_the_port_is_not_mistaken_for_ours(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ManagedOpa(opa_path, {}) as first:
        port = int(first.url.rpartition(":")[2])
        monkeypatch.setattr("bridge.opa.process._is_free", lambda _: True)
        with pytest.raises(PortTaken):
            await ManagedOpa(opa_path, {}, port=port).start()
        assert await answers(first.url)


async def test_a_bundle_that_opa_refuses_is_reported_in_opas_words(opa_path: Path) -> None:
    bundle = build_bundle({"a.rego": "package a\n\nx := nowhere\n"}, {}, ["a"])
    with pytest.raises(OpaStartError, match="nowhere"):
        await ManagedOpa(opa_path, {}, bundle=bundle).start()


async def test_an_executable_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OpaStartError, match="no-opa"):
        await ManagedOpa(tmp_path / "no-opa", {}).start()


async def test_it_leaves_no_files_behind(opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with ManagedOpa(opa_path, {}, bundle=build_bundle({"a.rego": "package a\n"}, {}, ["a"])):
        assert os.listdir(tmp_path) == []  # noqa: PTH208


async def answers(url: str) -> bool:
    async with Opa(url, timeout=2) as client:
        return await client.is_ready()


def child_of(pid: int | None) -> int:
    """The child of the wrapping shell that is OPA itself."""
    for candidate in Path("/proc").iterdir():
        if candidate.name.isdigit():
            fields = (candidate / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and "opa" in (candidate / "comm").read_text():
                return int(candidate.name)
    raise AssertionError("OPA has no process")
