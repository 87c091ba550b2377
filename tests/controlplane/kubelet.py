"""A node's kubelet, as far as an API server needs one to forward ports: TLS and a WebSocket.

It answers as the kubelet does (pkg/kubelet/server/portforward, `v4.channel.k8s.io`): two channels for each port, the
first two bytes of each are the port, and what keeps it from connecting is the text of the second one.
"""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import trustme
from aiohttp import web

from tests.controlplane.plane import ControlPlane
from tests.ports import free_port

_PROTOCOL = "v4.channel.k8s.io"
_STARTING = 60.0  # seconds


class Kubelet:
    """The kubelet of the node `node` of a control plane: `ports` has the local port for each port of a Pod.

    It refuses connections to Pods of `refused`, and breaks the protocol at Pods of `broken`.
    """

    def __init__(self, folder: Path) -> None:
        self.ports: dict[tuple[str, int], int] = {}
        self.refused: set[str] = set()
        self.broken: set[str] = set()
        self.port = free_port()
        certificate = trustme.CA().issue_cert("127.0.0.1")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop = asyncio.Event()

    @contextlib.contextmanager
    def running(self, plane: ControlPlane, node: str = "node") -> Iterator["Kubelet"]:
        """Serve, as a node of the cluster."""
        thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        thread.start()
        try:
            assert self._ready.wait(_STARTING)
            plane.api.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
            status = {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            }
            merge = "application/merge-patch+json"
            plane.api.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": status}, merge)
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join()
            self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_get("/portForward/{namespace}/{pod}", self._forward)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=self._context).start()
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        pod, port = request.match_info["pod"], int(request.query["port"])
        if pod in self.refused:
            return web.Response(status=500)
        connection = web.WebSocketResponse(protocols=(_PROTOCOL,))
        await connection.prepare(request)
        if pod in self.broken:
            assert request.transport
            request.transport.write(b"\xf2\0")  # an empty frame with reserved bits
        for channel in (b"\0", b"\1"):
            await connection.send_bytes(channel + port.to_bytes(2, "little"))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[pod, port])
        except (KeyError, OSError):
            why = f"failed to connect to localhost:{port} inside namespace: connection refused"
            await connection.send_bytes(b"\1" + f"error forwarding port {port} to pod {pod}: {why}".encode())
            await connection.close()
            return connection
        sending = asyncio.create_task(_send(reader, connection))
        async for message in connection:
            if message.type is aiohttp.WSMsgType.BINARY and message.data[:1] == b"\0":
                writer.write(message.data[1:])
        sending.cancel()
        writer.close()
        return connection


async def _send(reader: asyncio.StreamReader, connection: web.WebSocketResponse) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 15):
            await connection.send_bytes(b"\0" + data)
        await connection.close()
