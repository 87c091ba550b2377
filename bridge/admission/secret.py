"""The webhook's certificate in a Secret, so all replicas serve the same one.

The rules:
- The Secret (type kubernetes.io/tls) has `tls.crt` and `tls.key`, which every replica serves, and `ca.crt` and
  `ca.key`, which sign the next `tls.crt`: the webhook configuration's caBundle stays the same for years.
- The Lease's holder creates missing parts, and renews certificates that are due or lack a name; the others read.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

import structlog

from bridge.admission.certificates import Pair, new_authority, new_server, serves
from bridge.kube.client import KubeClient
from bridge.kube.errors import Conflict, Forbidden, KubeError, NotFound

log = structlog.get_logger(__name__)


class SharedCertificate:
    """Reads the Secret `namespace/name`, and creates it while `held`.

    `names` are the bridge's names for the API server.
    """

    def __init__(
        self, client: KubeClient, namespace: str, name: str, names: Iterable[str], held: Callable[[], bool]
    ) -> None:
        self.authority = b""  # the caBundle; empty until it is known
        self.origin = f"Secret {namespace}/{name}"
        self._client = client
        self._path = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = name
        self._names = tuple(names)
        self._held = held
        self._trouble = ""

    async def read(self) -> Pair | None:
        """Return the certificate to serve; None if it is missing, or cannot be read for now (which is logged once)."""
        try:
            found = await self._look()
        except KubeError as error:
            self._tell(error)
            return None
        self._trouble = ""
        return found

    async def _look(self) -> Pair | None:
        try:
            secret = await self._client.get(f"{self._path}/{self._name}")
        except NotFound:
            secret = None
        parts = _parts(secret)
        now = dt.datetime.now(dt.UTC)
        if self._held() and not (parts.get("ca.key") and serves(parts.get("tls.crt", b""), self._names, now)):
            parts = await self._make(secret, parts, now) or parts
        self.authority = parts.get("ca.crt", b"")
        if not parts.get("tls.crt") or not parts.get("tls.key"):
            return None
        return Pair(parts["tls.crt"], parts["tls.key"])

    async def _make(
        self, secret: dict[str, Any] | None, parts: dict[str, bytes], now: dt.datetime
    ) -> dict[str, bytes] | None:
        """Write missing parts; None if another writer was faster."""
        authority = Pair(parts.get("ca.crt", b""), parts.get("ca.key", b""))
        try:
            server = new_server(authority, self._names, now)
        except ValueError:  # there is none yet, or it is one that the bridge cannot sign with
            authority = new_authority(now)
            server = new_server(authority, self._names, now)
        made = {
            "ca.crt": authority.certificate,
            "ca.key": authority.key,
            "tls.crt": server.certificate,
            "tls.key": server.key,
        }
        data = {name: base64.b64encode(value).decode() for name, value in made.items()}
        try:
            if secret is None:
                metadata = {"name": self._name}
                body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
                await self._client.post(self._path, {**body, "metadata": metadata, "data": data})
            else:
                kept = {**secret, "data": {**(secret.get("data") or {}), **data}}
                await self._client.put(f"{self._path}/{self._name}", kept)
        except Conflict:
            return None
        log.info("webhook certificate created", secret=self.origin, names=self._names)
        return made

    def _tell(self, error: KubeError) -> None:
        why = str(error)
        if isinstance(error, Forbidden):
            why = f"grant the bridge's role get, create and update on secrets ({error.message})"
        if why != self._trouble:
            self._trouble = why
            log.warning("webhook certificate unavailable", secret=self.origin, why=why)


def _parts(secret: dict[str, Any] | None) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, value in ((secret or {}).get("data") or {}).items():
        try:
            found[name] = base64.b64decode(value)
        except (binascii.Error, TypeError):
            continue
    return found
