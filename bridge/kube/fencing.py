"""A client whose writes end with a Lease: a request is sent only while the Lease is held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

from bridge.kube.client import KubeClient, Read
from bridge.kube.errors import Fenced

# Seconds between two checks. The event loop's clock may stop while a machine sleeps, the Lease's clock does not.
_LONGEST_CHECK = 0.2


class WriteTerm(Protocol):
    """The right to write: `held` allows new requests; those in progress may take `left` more seconds."""

    @property
    def held(self) -> bool:
        """Return whether a write may begin now."""

    @property
    def left(self) -> float:
        """Return the seconds until the right ends, if nothing renews it."""


class FencedClient(KubeClient):
    """Send requests through `client`; those that change something only within `term`.

    A request in progress ends with the term, also while it waits for a connection or for credentials; a renewal of the
    term extends it. The API server may still execute a request that was sent before. Raises Fenced.
    """

    def __init__(self, client: KubeClient, term: WriteTerm) -> None:
        super().__init__(client.access)
        self._client = client
        self._term = term

    async def request(self, method: str, path: str, **others: Any) -> bytes:
        """Send one request and return the response's bytes."""
        if method == "GET":
            return await self._client.request(method, path, **others)
        if not self._term.held:
            raise Fenced(f"{method} {path} is not sent: this bridge does not hold the Lease")
        try:
            async with asyncio.timeout(None) as limit:
                with self._ending_with_the_term(limit):
                    return await self._client.request(method, path, **others)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Fenced(f"{method} {path} is aborted: this bridge does not hold the Lease any more") from error

    @contextmanager
    def _ending_with_the_term(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Let `limit` expire as soon as the term has ended."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def check() -> None:
            nonlocal timer
            left = self._term.left
            if left > 0:
                timer = loop.call_later(min(left, _LONGEST_CHECK), check)
            else:
                limit.reschedule(loop.time())

        timer = loop.call_later(min(self._term.left, _LONGEST_CHECK), check)
        try:
            yield
        finally:
            timer.cancel()

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, opening: float, silence: float
    ) -> AsyncIterator[Read]:
        """GET a streamed response; see KubeClient."""
        async with self._client.stream(path, params, opening=opening, silence=silence) as read:
            yield read

    async def quiet(self) -> None:
        """Wait until no write is in progress."""
        await self._client.quiet()

    async def close(self) -> None:
        """Do nothing: the connections belong to the other client."""
