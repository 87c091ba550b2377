"""Measure the cost of a misbehaving tenant for the others.

Each PARTS entry is a coroutine that measures one kind of misbehavior and reports it by `figure`. Add another one there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import aiohttp

from bridge.admission.endpoint import MUTATING_PATH
from hack.bench.admission import REVIEW, Served, webhook
from hack.bench.figures import figure, memory, percentile, progress, spread_of
from hack.bench.neighbors import neighbor, patterns

SOCKETS = 5_000
PEERS = 10  # addresses that they come from
REVIEWS = 300
KINDS = ("silent", "tls")  # TCP connections that send nothing, and TLS connections that send no request


async def measure(routes: int) -> None:
    """Measure all parts."""
    for part in PARTS:
        await part(routes)


async def connections(_: int) -> None:
    """Measure the webhook's memory and responses while clients keep connections open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    async with webhook() as served:
        await _reviews(served, "idle")
        for kind in KINDS:
            progress(f"webhook with {SOCKETS:,} sockets ({kind})")
            async with _held(served, kind) as opened:
                await _reviews(served, kind, opened=opened)


async def _reviews(served: Served, kind: str, **about: int) -> None:
    """Send one review after another, each on its own connection."""
    took, refused = [], 0
    for _ in range(REVIEWS):
        began = time.perf_counter()
        try:
            async with (
                aiohttp.ClientSession(connector=served.connector()) as session,
                session.post(f"{served.url}{MUTATING_PATH}?timeout=10s", json=REVIEW) as answer,
            ):
                review = json.loads(await answer.read())
                refused += not review["response"]["allowed"]
        except (aiohttp.ClientError, OSError):
            refused += 1
        took.append((time.perf_counter() - began) * 1e3)
    figure("tenants_webhook_review_p99", percentile(took, 0.99), "ms", sockets=kind, **about, **spread_of(took))
    figure("tenants_webhook_reviews_refused", refused, "reviews", sockets=kind, of=REVIEWS)
    used = memory(served.pid)
    if used is not None:
        figure("tenants_webhook_memory", used, "MiB", sockets=kind, **about)


@asynccontextmanager
async def _held(served: Served, kind: str) -> AsyncIterator[int]:
    """Hold SOCKETS connections; gives how many were accepted, or else closed only after their handshake."""
    port = int(served.url.rpartition(":")[2])

    def connect(number: int) -> socket.socket | None:
        try:
            opened = socket.create_connection(
                ("127.0.0.1", port), timeout=10, source_address=(f"127.0.1.{1 + number % PEERS}", 0)
            )
            return served.context.wrap_socket(opened, server_hostname="127.0.0.1") if kind == "tls" else opened
        except (OSError, ssl.SSLError):
            return None

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(16) as pool:
        opened = await asyncio.gather(*(loop.run_in_executor(pool, connect, number) for number in range(SOCKETS)))
    held = [one for one in opened if one is not None]
    try:
        yield len(held)
    finally:
        for one in held:
            with contextlib.suppress(OSError):
                one.close()


PARTS = (connections, neighbor, patterns)
