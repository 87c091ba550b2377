"""The OPA that the bridge syncs: its address and token. The bridge's own is restarted on its port when it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bridge.files import authorization_policy
from bridge.http.bundles import Tokens
from bridge.opa.address import TlsFiles
from bridge.opa.bundle import BundleTrust, opa_config
from bridge.opa.client import Failing, Opa, Requests
from bridge.opa.errors import OpaRejected, OpaStartError
from bridge.opa.process import ManagedOpa, TokenGuard
from bridge.settings.model import Settings
from bridge.work import STARTING, Backoff

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OpaAccess:
    """The OPA at `url`. `open` returns a client with the bridge's credentials."""

    url: str
    settings: Settings
    tokens: Tokens
    requests: Requests = field(default_factory=Requests)  # of all these clients

    def open(
        self,
        *,
        timeout: float = 30.0,
        recover: Callable[[OpaRejected], Awaitable[bool]] | None = None,
        failing: Failing | None = None,
        at_once: int = 100,
    ) -> Opa:
        """Return a client, to be entered. Raises OpaError for TLS files that cannot be used."""
        return Opa(
            self.url,
            token=self.tokens.own if self.tokens.given else None,
            timeout=timeout,
            recover=recover,
            tls=tls_files(self.settings),
            requests=self.requests,
            failing=failing,
            at_once=at_once,
        )


def tls_files(settings: Settings) -> TlsFiles:
    """Return the files that settings name for TLS to OPA."""
    return TlsFiles(settings.opa_ca_file, settings.opa_cert_file, settings.opa_key_file)


HEALTHY = 30.0  # seconds of uptime after which the waits start again from the first


class OwnOpa:
    """Starts an OPA and restarts it whenever it ends, at the same address.

    `make` returns one (not started) on a loopback port, None for a free one; with a socket, the port is ignored.
    """

    def __init__(self, make: Callable[[int | None], ManagedOpa], port: int | None) -> None:
        self._make = make
        self._opa = make(port)
        self.url = ""
        self.restarts = 0

    async def start(self) -> None:
        """Start it. Raises OpaStartError with OPA's output, PortTaken if its port is in use."""
        self.url = await self._opa.start()

    async def keep(self, ended: Callable[[], None]) -> None:
        """Restart it whenever it ends, until cancelled. `ended` is called each time that it runs again."""
        backoff = Backoff(STARTING)
        port = None if self.url.startswith("unix:") else int(self.url.rpartition(":")[2])
        while True:
            began = asyncio.get_running_loop().time()
            status = await self._opa.exited()
            log.warning("OPA exited, restarting", status=status, output="; ".join(self._opa.last_words[-3:]))
            if asyncio.get_running_loop().time() - began > HEALTHY:
                backoff.reset()
            while True:
                await backoff.wait()
                self._opa = self._make(port)
                try:
                    await self._opa.start()
                    self.restarts += 1
                    ended()
                    break
                except OpaStartError as error:
                    log.error("OPA failed to start", why=str(error))

    async def stop(self) -> None:
        """Stop it, gracefully first."""
        await self._opa.stop()
        log.info("OPA stopped")


@contextlib.asynccontextmanager
async def reach_opa(
    settings: Settings, bridge_url: str, tokens: Tokens, trust: BundleTrust, executable: Path
) -> AsyncIterator[tuple[OpaAccess, OwnOpa | None]]:
    """Yield access to the OPA of the settings, or to the bridge's own, which is started and stopped.

    `bridge_url` serves the bundles, including that of `tokens`; the bridge's own OPA verifies them by `trust`. Raises
    OpaStartError.
    """
    following = asyncio.create_task(tokens.run())
    own = None if settings.opa_url else _own(settings, bridge_url, tokens, trust, executable)
    try:
        if own is not None:
            await own.start()
        yield OpaAccess(settings.opa_url or (own.url if own else ""), settings, tokens), own
    finally:
        if own is not None:
            await own.stop()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _own(settings: Settings, bridge_url: str, tokens: Tokens, trust: BundleTrust, executable: Path) -> OwnOpa:
    guard = (
        TokenGuard(authorization_policy(), tokens.own, settings.opa_listen) if settings.opa_requires_tokens else None
    )
    decision_ids = settings.webhook_listen is not None
    config = opa_config(bridge_url, trust, decision_ids=decision_ids, authorization=guard is not None)

    def make(port: int | None) -> ManagedOpa:
        return ManagedOpa(executable, config, port=port, socket=settings.opa_socket or "", guard=guard)

    return OwnOpa(make, settings.opa_port)
