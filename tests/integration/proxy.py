"""A TCP proxy on loopback with the faults of a network: connections that freeze, and a host that refuses."""

import asyncio
import ssl
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

# Bytes between two chunks of a response. The first is no chunk, the second has the length of no bytes that follow, the
# third is no event of a watch.
BROKEN_CHUNKS = {"no chunk": b"zz\r\n", "a false length": b"1\r\nabc\r\n", "no event": b"8\r\n{garble\n\r\n"}


class Proxy:
    """Forwards to the host and port of `target`. `url` is its own address.

    TLS goes through untouched. With `trust`, the authority of the target, clients speak HTTP with the proxy, which can
    change what it passes on.
    """

    def __init__(self, target: str, trust: ssl.SSLContext | None = None) -> None:
        self._trust = trust
        self._scheme = "http" if trust or target.startswith("http:") else "https"
        parts = urlsplit(target)
        self._host, self._port = str(parts.hostname), int(parts.port or 443)
        self._own_port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._flowing: list[asyncio.Event] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.accepted = 0
        self.mute = False  # whether new connections are accepted, and nothing is passed on in them, ever
        self.delay = 0.0  # seconds that each piece from a client waits, also in the connections that are open now
        self.freeze_next_after: int | None = None  # bytes from the server, after which the next connection freezes
        self.answer_next = b""  # all that the next connection's client gets
        self._inserted: dict[asyncio.StreamWriter, bytes] = {}  # what each client gets before the server's next bytes

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"{self._scheme}://127.0.0.1:{self._own_port}"

    async def __aenter__(self) -> Self:
        await self.serve()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._own_port)
        self._own_port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Cut every connection and accept none."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.cut()

    def cut(self) -> None:
        """Cut every connection; new ones work."""
        for writer in [*self._open]:
            writer.transport.abort()

    def freeze(self) -> None:
        """Freeze the open connections; new ones work."""
        for flowing in self._flowing:
            flowing.clear()

    def insert(self, text: bytes) -> None:
        """Insert bytes before the server's next ones, in each open connection."""
        self._inserted = dict.fromkeys(self._open, text)

    def write(self, text: bytes) -> None:
        """Write bytes to the client of each open connection now."""
        for writer in self._clients:
            writer.write(text)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        answer, self.answer_next = self.answer_next, b""
        if answer:
            self._open.add(writer)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            return
        there, back = await asyncio.open_connection(self._host, self._port, ssl=self._trust)
        flowing = asyncio.Event()
        if not self.mute:
            flowing.set()
        self._flowing.append(flowing)
        self._open |= {writer, back}
        self._clients.add(writer)
        limit, self.freeze_next_after = self.freeze_next_after, None
        for source, sink, most in ((reader, back, None), (there, writer, limit)):
            task = asyncio.create_task(self._pass_on(source, sink, flowing, most, delayed=sink is back))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        flowing: asyncio.Event,
        limit: int | None,
        *,
        delayed: bool,
    ) -> None:
        passed = 0
        try:
            while piece := await source.read(65536):
                passed += len(piece)
                if limit is not None and passed > limit:
                    flowing.clear()
                await flowing.wait()
                if delayed:
                    await asyncio.sleep(self.delay)
                sink.write(self._inserted.pop(sink, b"") + piece)
                await sink.drain()
        except OSError:
            pass
        finally:
            self._open.discard(sink)
            self._clients.discard(sink)
            sink.transport.abort()
