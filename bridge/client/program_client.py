"""The client: single queries go to an OPA by opa-python-client, changes come from a bridge as a stream."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from opa_client.opa_async import AsyncOpaClient
from tenacity import wait_exponential

from bridge.client.answers import Effective, Explanation, Update
from bridge.opa.errors import OpaError, OpaUnavailable, OpaUndefined, QueryError, query_error
from bridge.work import delay_after

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

    async def __aexit__(self, *_: object) -> None:
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
        query_input = _input(policy_kind, source_namespace, upsert, delete) | {"targets": targets}
        return await self._query("effective", query_input, list[Effective])

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
        query_input = _input(policy_kind, source_namespace, upsert, delete) | {"target": target}
        return await self._query("explain", query_input, list[Explanation])

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
        """Return the result of any other query unchanged.

        Raises QueryError, or OpaUnavailable, also while OPA lacks objects.
        """
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
                raise query_error(code, message)
        return answer["result"]

    async def _query(self, name: str, input_document: Mapping[str, Any], kind: type[_Answer]) -> _Answer:
        result = await self.query(name, input_document)
        try:
            return msgspec.convert(result, kind)
        except msgspec.ValidationError as error:
            raise OpaError(f"the response of OPA to {name} has an unexpected form: {error}") from error


def _library(url: str, token: str | None, timeout: float) -> AsyncOpaClient:
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(f"{url!r} is not an address of OPA: http://HOST:PORT or https://HOST:PORT")
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    secure = address.scheme == "https"
    return AsyncOpaClient(host=host, port=address.port or _PORT, ssl=secure, token=token, timeout=timeout)


def _input(
    policy_kind: str | None, source_namespace: str | None, upsert: Sequence[Mapping[str, Any]], delete: Sequence[str]
) -> dict[str, Any]:
    query_input: dict[str, Any] = {}
    if policy_kind:
        query_input["policyKind"] = policy_kind
    if source_namespace:
        query_input["sourceNamespace"] = source_namespace
    if upsert or delete:
        query_input["changes"] = {"upsert": upsert, "delete": delete}
    return query_input


_SILENCE = 45.0  # seconds; the bridge sends data at least every 15
_WAIT = wait_exponential(multiplier=0.5, max=10.0)  # seconds between two attempts
_ATTEMPTS = 8  # consecutive failures, about 45 s
_BLOCK = b"\n\n"  # ends an event
_NOT_FOUND = ("NotFound", "TargetNotFound")

_Place = tuple[str, str]  # a target and a policy kind


class _Reason(msgspec.Struct, frozen=True):
    code: str = "Failed"
    message: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: _Reason = _Reason()


class Stream:
    """Follows effective policies at the bridge `url`, as an async context manager; `token` is its bearer token."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = f"{url.rstrip('/')}/v1/effective"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_WAIT.max)
        self._session = aiohttp.ClientSession(timeout=timeout, headers=self._headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def updates(
        self, targets: Sequence[str], policy_kind: str | None, source_namespace: str | None
    ) -> AsyncIterator[Update]:
        """Yield the updates of `Client.stream`."""
        parameters = [("target", target) for target in targets] + [("watch", "true")]
        parameters += [("policyKind", policy_kind)] if policy_kind else []
        parameters += [("sourceNamespace", source_namespace)] if source_namespace else []
        known: dict[_Place, Update] = {}
        failed = 0
        while True:
            try:
                async for update in self._connection(parameters, known):
                    failed = 0
                    yield update
                why = "the bridge ended the stream"
            except (aiohttp.ClientError, TimeoutError) as error:
                why = str(error) or type(error).__name__
            except OpaUnavailable as error:
                why = str(error)
            except QueryError as error:
                if not known or error.code not in _NOT_FOUND:
                    raise
                why = str(error)  # a starting bridge does not know its objects yet
            failed += 1
            if failed > _ATTEMPTS:
                raise OpaUnavailable(f"{self._url} cannot be followed: {why}")
            await asyncio.sleep(delay_after(_WAIT, failed))

    async def _connection(
        self, parameters: list[tuple[str, str]], known: dict[_Place, Update]
    ) -> AsyncIterator[Update]:
        """Yield the updates of one connection that differ from `known`, and update that."""
        if self._session is None:
            raise RuntimeError("use the client as an async context manager")
        received = _Received()
        async with asyncio.timeout(_SILENCE):
            response = await self._session.get(self._url, params=parameters)
        async with response:
            if response.status != 200:
                async with asyncio.timeout(_SILENCE):
                    raise _refused(response.status, await response.read())
            async for event, data in _events(_pieces(response.content)):
                received.process(event, data)
                for update in received.differing(known):
                    known[update.target, update.policy_kind] = update
                    yield update


class _Received:
    """The events of one connection that were not compared with the known state yet."""

    def __init__(self) -> None:
        self._updates: dict[_Place, Update] = {}
        self._ready = False  # events of a bridge that is not ready may be incomplete
        self._synced = ""  # the revision of the complete state; "" before
        self._whole = False  # everything was compared

    def process(self, event: str, data: bytes) -> None:
        """Process an event."""
        if event == "effective":
            update = msgspec.json.decode(data, type=Update)
            self._updates[update.target, update.policy_kind] = update
        elif event == "synced":
            self._synced = msgspec.json.decode(data)["revision"]
        elif event == "state":
            self._ready = msgspec.json.decode(data)["ready"]

    def differing(self, known: Mapping[_Place, Update]) -> list[Update]:
        """Return the updates that differ from the known state; none while the events may be incomplete."""
        if not self._ready or not self._synced:
            return []
        updates, self._updates = self._updates, {}
        if not self._whole:
            self._whole = True
            for place in known.keys() - updates.keys():  # its last policy was removed while the client was disconnected
                updates[place] = msgspec.structs.replace(known[place], paths=(), revision=self._synced)
        return [
            update
            for place, update in sorted(updates.items())
            if place not in known or known[place].paths != update.paths
        ]


async def _pieces(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield what arrives. Raises TimeoutError after _SILENCE seconds without anything."""
    while True:
        # The library's own timer misses a broken chunk: it closes the connection, and the reader waits forever.
        async with asyncio.timeout(_SILENCE):
            piece = await content.readany()
        if not piece:
            return
        yield piece


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, bytes]]:
    """Yield each event's name and data; the bridge writes the data of an event on one line."""
    waiting = bytearray()
    async for chunk in chunks:
        searched = max(0, len(waiting) - len(_BLOCK) + 1)
        waiting += chunk
        while (end := waiting.find(_BLOCK, searched)) >= 0:
            fields = dict(line.split(b": ", 1) for line in bytes(waiting[:end]).split(b"\n") if b": " in line)
            del waiting[: end + len(_BLOCK)]
            searched = 0
            if b"event" in fields:
                yield fields[b"event"].decode(), fields.get(b"data", b"null")


def _refused(status: int, body: bytes) -> QueryError | OpaUnavailable:
    """Return the error of a response other than 200: a permanent or a temporary one."""
    try:
        reason = msgspec.json.decode(body, type=_Refusal).error
    except msgspec.DecodeError:
        reason = _Reason(message=body[:200].decode(errors="replace"))
    if status >= 500 or status in {408, 429}:
        return OpaUnavailable(f"the bridge answered {status} {reason.code}: {reason.message}")
    return QueryError(reason.code, reason.message)
