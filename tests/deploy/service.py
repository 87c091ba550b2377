"""A Service for Pods on this machine: new connections go to the ends that are ready, those that stand stay."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Service:
    """Forwards connections to `ends`, ports of this machine, in turn. `url` is its own address."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self._turn = itertools.count()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Forward in the block."""
        thread = threading.Thread(target=self._accept, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                came, _ = self._listener.accept()
            except OSError:
                return
            ends = self.ends
            try:
                there = socket.create_connection(("127.0.0.1", ends[next(self._turn) % len(ends)]), timeout=5)
            except (OSError, ZeroDivisionError):
                came.close()
                continue
            there.settimeout(None)
            for source, sink in ((came, there), (there, came)):
                threading.Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, sink):
            each.close()
