"""A connection to a port of a Pod through the API server, with the user's rights, as `kubectl port-forward` opens it.

The API server passes the WebSocket on to the node's kubelet, which connects to the port within the Pod's network.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType

import aiohttp

from bridge.kube.kube_client import KubeClient, translated
from bridge.kube.kube_errors import ApiError, Forbidden, KubeError, Unreachable, one_line

SECONDS = 30.0  # without any byte
PROTOCOL = "v4.channel.k8s.io"  # a frame's first byte is its channel
_DATA, _ERROR = 0, 1  # channels of the first port
_PORT = 2  # bytes: the first of each channel are the port's number
_PIECE = 1 << 15  # bytes


class PortForward:
    """A socket to a port of a Pod: `with PortForward(connect, namespace, pod, port) as connection`.

    `connect` makes the client of the API server, for an event loop of its own: the socket is for blocking code.
    `failure` returns why the connection ended early; errors of the socket are then its consequences.
    """

    def __init__(self, connect: Callable[[], Awaitable[KubeClient]], namespace: str, pod: str, port: int) -> None:
        self._connect = connect
        self._path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
        self._port = port
        self._error: KubeError | None = None

    def __enter__(self) -> socket.socket:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(SECONDS)
        self._theirs.setblocking(False)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self._ours

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.failure()

    def failure(self) -> KubeError | None:
        """End the connection; return why it had ended early, None if it had not."""
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)  # a file of the socket that is still open defers `close`
        self._ours.close()
        self._thread.join()
        return self._error

    def _run(self) -> None:
        try:
            asyncio.run(self._forward())
        except ApiError as error:
            unable = KubeError(f"HTTP {error.status}: the API server cannot forward to this Pod")
            self._error = error if isinstance(error, Forbidden) else unable
        except KubeError as error:
            self._error = error
        finally:
            self._theirs.close()

    async def _forward(self) -> None:
        params = {"ports": str(self._port)}
        async with (
            await self._connect() as client,
            client.websocket(self._path, params, PROTOCOL, opening=SECONDS) as connection,
        ):
            tasks = [asyncio.create_task(one) for one in (self._send(connection), self._receive(connection))]
            ended, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for task in ended:
                with translated(client.server), contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    task.result()

    async def _send(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(self._theirs, _PIECE):
            await connection.send_bytes(bytes([_DATA]) + data)

    async def _receive(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        loop = asyncio.get_running_loop()
        ports = {_DATA: _PORT, _ERROR: _PORT}  # bytes of the port's number that a channel has not sent yet
        async for message in connection:
            if message.type is aiohttp.WSMsgType.ERROR:
                raise Unreachable(f"the connection to the Pod broke: {one_line(message.data)}")
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            channel = message.data[0]
            begin = 1 + min(ports.get(channel, 0), len(message.data) - 1)
            ports[channel] = ports.get(channel, 0) - (begin - 1)
            content = message.data[begin:]
            if channel == _ERROR and content:
                raise Unreachable(one_line(content.decode(errors="replace")))
            if channel == _DATA:
                await loop.sock_sendall(self._theirs, content)
