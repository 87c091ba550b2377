"""A Service for Pods on this machine: new connections go to the ends that are ready, those that stand stay."""

import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Service:
    """Forwards connections to `ends`, ports of this machine, in turn. `url` is its own address."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self._turn = itertools.count()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Forward in the block, in a thread of its own."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._accept, sock=self._listener), loop
        ).result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_end(server), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = self.ends
        if not ends:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", ends[next(self._turn) % len(ends)])
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
        for each in (writer, back):
            each.close()


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
        sink.write_eof()
        return
    sink.transport.abort()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
