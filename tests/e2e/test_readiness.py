"""`/readyz` of a bridge whose OPA takes its time to start, or may have been restarted."""

import asyncio
import contextlib
import subprocess
from pathlib import Path

from aiohttp import web

from bridge.opa.bundle import BUNDLE_PATH, opa_config
from bridge.opa.process import ManagedOpa, free_port
from bridge.web.queries import ALLOWED
from tests.bundle_trust import shared_credentials, shared_trust
from tests.e2e.conftest import SHOP
from tests.e2e.serving import bridge_starts, fetch
from tests.eventually import equal_to, eventually_blocking
from tests.integration.faulty_opa import FaultyOpa

PATIENCE = 300.0  # seconds


def test_before_opa_has_started_the_bridge_is_alive_and_not_ready(
    bridge_path: Path, environment: dict[str, str], opa_path: Path, tmp_path: Path, unused_tcp_port: int
) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\n[ "$1" = run ] && sleep 2\nexec {opa_path} "$@"\n')
    slow.chmod(0o755)
    address = f"127.0.0.1:{unused_tcp_port}"
    options = ("--manifests", SHOP, "--listen", address)
    with bridge_starts(bridge_path, environment, tmp_path / "log", *options, BRIDGE_OPA=str(slow)) as process:
        eventually_blocking(lambda: fetch(f"http://{address}/livez"), equal_to((200, "ok\n")))
        assert process.poll() is None
        status, text = fetch(f"http://{address}/readyz")
        assert status == 503
        assert "[-] replicator: OPA is not started yet" in text
        _until_ready(f"http://{address}")


async def test_without_an_answer_of_the_api_server_every_path_says_that_the_bridge_is_not_ready(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path, unused_tcp_port: int
) -> None:
    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            while await reader.read(65536):
                pass

    silent = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    server = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(f"""
apiVersion: v1
kind: Config
clusters: [{{name: silent, cluster: {{server: "{server}"}}}}]
users: [{{name: one, user: {{token: a-token}}}}]
contexts: [{{name: silent, context: {{cluster: silent, user: one}}}}]
current-context: silent
""")
    url, opa = f"http://127.0.0.1:{unused_tcp_port}", free_port()
    options = ("--kubeconfig", kubeconfig, "--listen", url.removeprefix("http://"), "--opa-port", str(opa))
    with bridge_starts(bridge_path, environment, tmp_path / "log", *options):
        bundles = f"http://127.0.0.1:{opa}/health?bundles"
        await asyncio.to_thread(eventually_blocking, lambda: fetch(bundles)[0], equal_to(200))
        reads = ["/v1/effective?target=gateway/shop/web", "/api/uncovered?without=TLSPolicy", "/api/problems"]
        reads += ["/api/violations", *(f"/api/{name}?key=core/Service/shop/cart" for name in ("object", "events"))]
        found = {path: await asyncio.to_thread(fetch, f"{url}{path}") for path in reads}
        sent = {"/api/changes": "kind: Service", **dict.fromkeys(map("/api/query/{}".format, ALLOWED), "{}")}
        found |= {path: await asyncio.to_thread(fetch, f"{url}{path}", text.encode()) for path, text in sent.items()}
        message = '{"error":{"code":"NotReady","message":"the initial sync of OPA is incomplete"}}'
        assert {path: answer for path, answer in found.items() if answer != (503, message)} == {}
        assert '"whole":false' in (await asyncio.to_thread(fetch, f"{url}/api/topology"))[1]
        assert (await asyncio.to_thread(fetch, f"{url}/readyz"))[0] == 503
    silent.close()
    await silent.wait_closed()


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
            assert (await asyncio.to_thread(fetch, f"{url}{BUNDLE_PATH}"))[0] == 401
            assert (await asyncio.to_thread(fetch, f"{url}/readyz"))[0] == 200
            await asyncio.to_thread(fetch, f"{url}{BUNDLE_PATH}", token=shared_credentials().token)
            status, text = await asyncio.to_thread(fetch, f"{url}/readyz")
            assert status == 503
            assert "[-] replicator: " in text
            proxy.fault = None
            held.set()
            await asyncio.to_thread(_until_ready, url)
        finally:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 180) == 0


def _until_ready(url: str) -> None:
    eventually_blocking(lambda: fetch(f"{url}/readyz")[0], equal_to(200))
