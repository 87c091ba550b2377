"""Loopback ports where nothing listens at present."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """Different ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def free_port() -> int:
    """A port."""
    return free_ports(1)[0]


def free_address() -> str:
    """A host and port."""
    return f"127.0.0.1:{free_port()}"
