"""The transport to an OPA that lasts: aiohttp's connections, which requests share; TCP, TLS or a Unix socket."""

from __future__ import annotations

import io
import ssl
from collections.abc import Mapping

import aiohttp
from yarl import URL

from bridge.opa.address import Address, Trust
from bridge.opa.errors import OpaDisconnected, OpaUnavailable
from bridge.opa.transport import Response

_STREAMED = 1 << 20  # larger bodies are sent in pieces, which keeps the event loop responsive


class Pool:
    """A transport with at most `at_once` connections. `trust` is for https."""

    def __init__(self, address: Address, trust: Trust | None, at_once: int) -> None:
        self._address = address
        self._trust = trust
        self._session = aiohttp.ClientSession(
            connector=_connector(address, at_once),
            timeout=aiohttp.ClientTimeout(total=None),  # `Opa` has a clock that no broken response stops
            headers={"Accept-Encoding": "identity"},  # compression takes OPA longer than a fast network
        )

    async def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        """Send one request."""
        where = f"OPA at {self._address.url}"
        if self._trust is not None:
            self._trust.look()
        try:
            async with self._session.request(
                method,
                URL(f"{self._address.base}{path}", encoded=True),
                data=io.BytesIO(body) if body is not None and len(body) > _STREAMED else body,
                headers=headers,
                ssl=self._trust.context if self._trust is not None else True,
                allow_redirects=False,  # a redirect must not receive the token
            ) as response:
                answer = await response.read()
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            raise OpaUnavailable(f"no trusted TLS connection to {where}: {_describe_error(error)}") from error
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            ended = not isinstance(error, aiohttp.ClientConnectorError)
            kind = OpaDisconnected if ended else OpaUnavailable
            raise kind(f"{where} cannot be reached: {_describe_error(error)}") from error
        except aiohttp.ClientError as error:
            raise OpaUnavailable(f"{where} cannot be reached: {_describe_error(error)}") from error
        return Response(response.status, answer, response.headers.get("Retry-After", ""))

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def _connector(address: Address, at_once: int) -> aiohttp.BaseConnector:
    if address.socket:
        return aiohttp.UnixConnector(address.socket, limit=at_once)
    return aiohttp.TCPConnector(limit=at_once)


def _join_lines(error: BaseException) -> str:
    return " ".join(str(error).split())


def _describe_error(error: Exception) -> str:
    """Return the message without the library's additions."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "unknown host name"
    if isinstance(error, aiohttp.ClientConnectorCertificateError) and _is_of_other_host(error.certificate_error):
        instead = "write one of its names in the URL, or use a Unix socket (unix:///PATH)"
        return f"{_join_lines(error.certificate_error)}: the certificate has other names; {instead}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"{_join_lines(error.certificate_error)}; set opa_ca_file to the authority that signed it"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _join_lines(error.os_error)
    return str(error)


_OTHER_NAMES = (62, 64)  # OpenSSL: X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH


def _is_of_other_host(error: BaseException) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _OTHER_NAMES
