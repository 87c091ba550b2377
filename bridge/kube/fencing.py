"""A client for who may write only while a Lease is held: what has not been sent by its end is not sent any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bridge.kube.client import KubeClient, Read
from bridge.kube.errors import Fenced


class FencedClient(KubeClient):
    """Requests by way of `client`, of which those that change something are sent only within the next `left()` seconds.

    They are broken off then, also while they wait for a connection or for credentials; what was sent already may still
    be carried out. A process that was stopped (SIGSTOP, a frozen machine) finds its time over when it goes on: `left`
    counts by a clock that does not stop. Raises Fenced where no time is left.
    """

    def __init__(self, client: KubeClient, left: Callable[[], float]) -> None:
        super().__init__(client._access)  # noqa: SLF001 - one of its own kind
        self._client = client
        self._left = left

    async def request(self, method: str, path: str, **others: Any) -> bytes:
        """Send one request and return the answer's bytes."""
        if method == "GET":
            return await self._client.request(method, path, **others)
        left = self._left()
        if left <= 0:
            raise Fenced(f"{method} {path} is not sent: this bridge does not hold the Lease")
        try:
            async with asyncio.timeout(left) as term:
                return await self._client.request(method, path, **others)
        except TimeoutError as error:
            if not term.expired():
                raise
            raise Fenced(f"{method} {path} is broken off: this bridge does not hold the Lease any more") from error

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, opening: float, silence: float
    ) -> AsyncIterator[Read]:
        """GET an answer that goes on; see KubeClient."""
        async with self._client.stream(path, params, opening=opening, silence=silence) as read:
            yield read

    async def quiet(self) -> None:
        """Wait until no request is under way that changes something."""
        await self._client.quiet()

    async def close(self) -> None:
        """Nothing: the connections are the other client's."""
