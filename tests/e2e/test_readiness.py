"""`/readyz` of a bridge whose OPA takes its time to start, or may have been restarted."""

import asyncio
import contextlib
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from aiohttp import web

from bridge.opa.bundle import BUNDLE_PATH, opa_config
from bridge.opa.process import ManagedOpa
from tests.bundle_trust import shared_credentials, shared_trust
from tests.e2e.conftest import SHOP
from tests.e2e.serving import bridge_starts
from tests.integration.faulty_opa import FaultyOpa

PATIENCE = 300.0  # seconds


def _ask(url: str, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None
        try:
            return _fetch(url)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_before_opa_has_started_the_bridge_is_alive_and_not_ready(
    bridge_path: Path, environment: dict[str, str], opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\n[ "$1" = run ] && sleep 2\nexec {opa_path} "$@"\n')
    slow.chmod(0o755)
    address = f"127.0.0.1:{unused_tcp_port}"
    options = ("--manifests", SHOP, "--listen", address)
    with bridge_starts(bridge_path, environment, tmp_path / "log", *options, BRIDGE_OPA=str(slow)) as process:
        assert _ask(f"http://{address}/livez", process) == (200, "ok\n")
        status, text = _ask(f"http://{address}/readyz", process)
        assert status == 503
        assert "[-] replicator: OPA is not started yet" in text
        _until_ready(f"http://{address}")


async def test_the_bridge_is_not_ready_from_its_opas_first_bundle_request_until_it_checked_opa(
    bridge_path: Path, environment: dict[str, str], opa_path: Path, unused_tcp_port: int
) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    held = asyncio.Event()

    async def hold(_: web.Request, __: object) -> web.StreamResponse:
        await held.wait()
        return web.Response(status=500)

    async with ManagedOpa(opa_path, opa_config(url, shared_trust())) as opa, FaultyOpa(opa.url).serving() as proxy:
        process = await asyncio.create_subprocess_exec(
            bridge_path,
            *("run", "--manifests", SHOP, "--listen", url.removeprefix("http://"), "--opa", proxy.url),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await asyncio.to_thread(_until_ready, url)
            proxy.fault = hold
            # Without the token nothing is concluded; with it this is an OPA that has just started.
            assert (await asyncio.to_thread(_fetch, f"{url}{BUNDLE_PATH}"))[0] == 401
            assert (await asyncio.to_thread(_fetch, f"{url}/readyz"))[0] == 200
            await asyncio.to_thread(_fetch, f"{url}{BUNDLE_PATH}", shared_credentials().token)
            status, text = await asyncio.to_thread(_fetch, f"{url}/readyz")
            assert status == 503
            assert "[-] replicator: " in text
            proxy.fault = None
            held.set()
            await asyncio.to_thread(_until_ready, url)
        finally:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 180) == 0


def _fetch(url: str, token: str = "") -> tuple[int, str]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 (always http on loopback)
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + 2 * PATIENCE
    status = 0
    while status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            status, _ = _fetch(f"{url}/readyz")
