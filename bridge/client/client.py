"""The client: single queries go to an OPA by opa-python-client, changes come from a bridge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from opa_client.opa_async import AsyncOpaClient

from bridge.client.answers import Effective, Explanation, Update
from bridge.client.streaming import Stream
from bridge.opa.errors import OpaError, OpaUnavailable, OpaUndefined, QueryError

_Answer = TypeVar("_Answer")
_PACKAGE = "bridge.v1"
_PORT = 8181  # OPA's own default


class Client:
    """An async context manager for an OPA with the bridge's Rego (`opa`), for a bridge (`bridge`), or for both.

    `opa` is `http(s)://HOST[:PORT]`, or an `AsyncOpaClient` of opa-python-client (with a client certificate, say) that
    is not open yet. `bridge` is the address of `--listen`. Tokens are those of OPA's readers and of the bridge
    (`web_token_file`). `timeout` is in seconds, for one query. One client serves any number of tasks.
    """

    def __init__(
        self,
        opa: str | AsyncOpaClient | None = None,
        *,
        bridge: str | None = None,
        opa_token: str | None = None,
        bridge_token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._opa = _library(opa, opa_token, timeout) if isinstance(opa, str) else opa
        self._stream = Stream(bridge, bridge_token) if bridge else None
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for part in (self._opa, self._stream):
            if part is not None:
                await self._open.enter_async_context(part)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    async def effective(
        self,
        *targets: str,
        policy_kind: str | None = None,
        source_namespace: str | None = None,
        upsert: Sequence[Mapping[str, Any]] = (),
        delete: Sequence[str] = (),
    ) -> list[Effective]:
        """Return the effective policies at targets (keys), and at the effective targets below them.

        With `upsert` and `delete` (objects, keys) the result is as if they had been applied. Raises QueryError for a
        target or kind that does not exist.
        """
        asked = _input(policy_kind, source_namespace, upsert, delete) | {"targets": targets}
        return await self._query("effective", asked, list[Effective])

    async def explain(
        self,
        target: str,
        *,
        policy_kind: str | None = None,
        source_namespace: str | None = None,
        upsert: Sequence[Mapping[str, Any]] = (),
        delete: Sequence[str] = (),
    ) -> list[Explanation]:
        """Return the explanation of the effective policies at a target; arguments and errors as in `effective`."""
        asked = _input(policy_kind, source_namespace, upsert, delete) | {"target": target}
        return await self._query("explain", asked, list[Explanation])

    def stream(
        self, *targets: str, policy_kind: str | None = None, source_namespace: str | None = None
    ) -> AsyncIterator[Update]:
        """Yield the current effective policies at and below targets, then each change, until the caller stops.

        A target may be a key or a short name. After a broken connection it continues, and yields only differences.
        Raises QueryError for a wrong target, OpaUnavailable if the bridge cannot be reached.
        """
        if self._stream is None:
            raise OpaError("the client has no bridge to follow: Client(bridge=…)")
        return self._stream.updates(targets, policy_kind, source_namespace)

    async def query(self, name: str, input_document: Mapping[str, Any]) -> Any:
        """Return the result of any other query unchanged. Raises QueryError."""
        if self._opa is None:
            raise OpaError("the client has no OPA to query: Client('http://…')")
        try:
            answer = await self._opa.query_rule(dict(input_document), _PACKAGE, name)
        except aiohttp.ClientResponseError as error:
            raise OpaError(f"OPA rejected the query {name}: {error.status} {error.message}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise OpaUnavailable(f"cannot query OPA: {str(error) or type(error).__name__}") from error
        if "result" not in answer:
            raise OpaUndefined(f"{_PACKAGE}.{name}".replace(".", "/"))
        match answer["result"]:
            case {"error": {"code": code, "message": message}}:
                raise QueryError(str(code), str(message))
        return answer["result"]

    async def _query(self, name: str, input_document: Mapping[str, Any], kind: type[_Answer]) -> _Answer:
        result = await self.query(name, input_document)
        try:
            return msgspec.convert(result, kind)
        except msgspec.ValidationError as error:
            raise OpaError(f"the answer of OPA to {name} has another form: {error}") from error


def _library(url: str, token: str | None, timeout: float) -> AsyncOpaClient:
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(f"{url!r} is not the address of an OPA: http://HOST:PORT or https://HOST:PORT")
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    secure = address.scheme == "https"
    return AsyncOpaClient(host=host, port=address.port or _PORT, ssl=secure, token=token, timeout=timeout)


def _input(
    policy_kind: str | None,
    source_namespace: str | None,
    upsert: Sequence[Mapping[str, Any]],
    delete: Sequence[str],
) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if policy_kind:
        asked["policyKind"] = policy_kind
    if source_namespace:
        asked["sourceNamespace"] = source_namespace
    if upsert or delete:
        asked["changes"] = {"upsert": upsert, "delete": delete}
    return asked
