"""How the bridge reaches the OPA that it fills: its address, the token, what its certificate is checked with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bridge.opa.address import TlsFiles
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected
from bridge.opa.measuring import Requests
from bridge.runtime.settings import Settings
from bridge.runtime.tokens import Tokens


@dataclass(frozen=True, slots=True)
class OpaAccess:
    """The OPA at `url`. `open` makes a client of it, with what every one of the bridge's has to show."""

    url: str
    settings: Settings
    tokens: Tokens
    requests: Requests = field(default_factory=Requests)  # of all these clients

    def open(
        self,
        *,
        timeout: float = 30.0,
        mend: Callable[[OpaRejected], Awaitable[bool]] | None = None,
        at_once: int = 100,
    ) -> Opa:
        """A client, to be entered. Raises OpaError for files of TLS that cannot be used."""
        return Opa(
            self.url,
            token=self.tokens.own if self.tokens.given else None,
            timeout=timeout,
            mend=mend,
            tls=tls_files(self.settings),
            requests=self.requests,
            at_once=at_once,
        )


def tls_files(settings: Settings) -> TlsFiles:
    """The files that settings name for TLS to OPA."""
    return TlsFiles(settings.opa_ca_file, settings.opa_cert_file, settings.opa_key_file)
