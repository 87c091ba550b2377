"""The OPA that the bridge syncs: its address and token. The bridge's own is restarted on its port when it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from bridge.files import authorization_policy, read_text
from bridge.http.bundles import Tokens
from bridge.opa.address import TlsFiles
from bridge.opa.bundle import BundleTrust, opa_config
from bridge.opa.client import Failing, Opa, Requests
from bridge.opa.errors import OpaRejected, OpaStartError
from bridge.opa.process import ManagedOpa, TokenGuard
from bridge.settings.model import Settings
from bridge.sources.yaml import BrokenDocument, read_documents
from bridge.work import STARTING, Backoff, beside

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
        settings = self.settings
        return Opa(
            self.url,
            token=self.tokens.own if self.tokens.given else None,
            timeout=timeout,
            recover=recover,
            tls=TlsFiles(settings.opa_ca_file, settings.opa_cert_file, settings.opa_key_file),
            requests=self.requests,
            failing=failing,
            at_once=at_once,
        )


HEALTHY = 30.0  # seconds of uptime after which the waits start again from the first


async def keep_running(opa: ManagedOpa, restarted: Callable[[], None]) -> None:
    """Restart a started OPA whenever it ends, at the same address, until cancelled; then call `restarted`."""
    backoff = Backoff(STARTING)
    while True:
        began = asyncio.get_running_loop().time()
        status = await opa.exited()
        log.warning("OPA exited, restarting", status=status, output="; ".join(opa.last_lines[-3:]))
        if asyncio.get_running_loop().time() - began > HEALTHY:
            backoff.reset()
        while True:
            await backoff.wait()
            try:
                await opa.start()
                restarted()
                break
            except OpaStartError as error:
                log.error("OPA failed to start", why=str(error))


@contextlib.asynccontextmanager
async def reach_opa(
    settings: Settings, bridge_url: str, tokens: Tokens, trust: BundleTrust, executable: Path
) -> AsyncIterator[tuple[OpaAccess, ManagedOpa | None]]:
    """Yield access to the OPA of the settings, or to the bridge's own, which is started and stopped.

    `bridge_url` serves the bundles, including that of `tokens`; the bridge's own OPA verifies them by `trust`. Raises
    OpaStartError.
    """
    async with beside(tokens.run()):
        if settings.opa_url:
            yield OpaAccess(settings.opa_url, settings, tokens), None
            return
        try:
            async with _own(settings, bridge_url, tokens, trust, executable) as own:
                yield OpaAccess(own.url, settings, tokens), own
        finally:
            log.info("OPA stopped")


def _own(settings: Settings, bridge_url: str, tokens: Tokens, trust: BundleTrust, executable: Path) -> ManagedOpa:
    guard = (
        TokenGuard(authorization_policy(), tokens.own, settings.opa_listen) if settings.opa_requires_tokens else None
    )
    decision_ids = settings.webhook_listen is not None
    config = opa_config(
        bridge_url,
        trust,
        decision_ids=decision_ids,
        authorization=guard is not None,
        system_main=True,
        given=read_config("opa_config_file", settings.opa_config_file),
    )
    return ManagedOpa(
        executable,
        config,
        port=settings.opa_port,
        socket=settings.opa_socket or "",
        guard=guard,
        log_level=settings.opa_log_level,
    )


def read_config(name: str, file: str | None) -> dict[str, Any]:
    """Return a user's configuration of OPA, from the file of the setting or option `name`. Raises OpaStartError."""
    if file is None:
        return {}
    try:
        [found] = read_documents(read_text(Path(file)))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise OpaStartError(f"{name} {file} cannot be used: it must have one document of YAML ({error})") from error
    value = None if isinstance(found, BrokenDocument) else found.value
    if not isinstance(value, dict):
        reason = found.reason if isinstance(found, BrokenDocument) else "it is not a mapping"
        raise OpaStartError(f"{name} {file} cannot be used: {reason}")
    if isinstance(value.get("storage"), dict) and "disk" in value["storage"]:
        raise OpaStartError(f"{name} {file}: storage.disk is not supported: remove it")
    for part in ("services", "keys", "bundles", "status", "decision_logs"):
        if not isinstance(value.get(part, {}), dict):
            raise OpaStartError(f"{name} {file}: {part} is not a mapping")
    return value
