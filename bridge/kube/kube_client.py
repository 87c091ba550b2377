"""One connection pool to one API server: JSON in and out, raw bytes underneath; all errors are KubeErrors.

Its address and the bridge's credentials are from a kubeconfig or the pod's service account.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import aiohttp
import msgspec

from bridge import tracing
from bridge.files import read_file
from bridge.kube.kube_errors import (
    ConfigurationError,
    Garbled,
    TimedOut,
    Unauthorized,
    Unreachable,
    Untrusted,
    api_error,
    one_line,
)
from bridge.model.changes import Object
from bridge.model.keys import Key
from bridge.model.nesting import decode
from bridge.model.types import ResourceType
from bridge.work import CREDENTIALS

Read = Callable[[], Awaitable[bytes]]
Answer = TypeVar("Answer")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_CONNECT = 5.0  # seconds to open a connection
_ANSWER = 30.0  # seconds for a whole request by default
_LOGIN = 120.0  # seconds for a credential plugin, which may ask a person
_LOOK = 2.0  # seconds between two checks that the connection of a silent stream still exists
_GOODBYE = 0.05  # seconds
_READ_BUFFER = 1 << 21  # bytes: an event of a watch may be larger than aiohttp's buffer
_HEADERS = {
    "User-Agent": "policy-bridge",  # the API server also derives the field manager's name from it
    "Accept-Encoding": "identity",  # within a cluster, compressing a list costs more time than it saves
}


class KubeClient:
    """Requests to an API server by path (`/apis/...`).

    TLS is always verified, credentials are refreshed, and everything has a timeout.

    Use `async with await KubeClient.connect() as client`, or call `close`. Every method raises a KubeError.
    """

    def __init__(self, access: KubeAccess) -> None:
        self.access = access
        self._identity: tuple[Any, ...] = ()
        self._session: aiohttp.ClientSession | None = None
        self._changing = 0  # requests in progress that change objects
        self._unchanging = asyncio.Event()
        self._unchanging.set()
        self.server = str(access.configuration.host)
        self.origin = access.origin
        self.namespace = access.namespace

    @classmethod
    async def connect(cls, kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> Self:
        """Read the configuration (see `load_access` for its sources) and make a client. Nothing is sent yet.

        Raises ConfigurationError.
        """
        client = cls(await load_access(kubeconfig, context))
        await client._open_session()
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, including those of running streams."""
        if self._session is not None:
            await self._session.close()
            # The pool does not wait for connections of cancelled requests, which are closing.
            await asyncio.sleep(_GOODBYE)

    async def get(self, path: str, params: Mapping[str, str] | None = None, **options: Any) -> Any:
        """GET `path` and parse the response. `options` are those of `request`, here and below."""
        return parse(await self.request("GET", path, params=params, **options))

    async def post(self, path: str, body: Any, **options: Any) -> Any:
        """POST `body` as JSON and parse the response."""
        return parse(await self.request("POST", path, body=msgspec.json.encode(body), **options))

    async def put(self, path: str, body: Any, **options: Any) -> Any:
        """PUT `body` as JSON and parse the response."""
        return parse(await self.request("PUT", path, body=msgspec.json.encode(body), **options))

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH, **options: Any) -> Any:
        """PATCH with `body` as JSON of the given patch type and parse the response."""
        data = msgspec.json.encode(body)
        return parse(await self.request("PATCH", path, body=data, content_type=content_type, **options))

    async def delete(self, path: str) -> Any:
        """DELETE `path` and parse the response."""
        return parse(await self.request("DELETE", path))

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float = _ANSWER,
    ) -> bytes:
        """Send one request and return the response's bytes. `timeout` is in seconds, for the whole request."""
        headers = {"Accept": accept, "Content-Type": content_type}
        sent: dict[str, Any] = {"params": params, "data": body}

        async def exchange(authorization: str | None) -> bytes:
            # The library's timers miss some faults, such as a broken chunk: every wait has a clock of the bridge.
            with translated(self.server):
                async with asyncio.timeout(timeout):
                    response = await self._send(authorization, method, path, headers, sent)
                    try:
                        return await response.read()
                    finally:
                        response.release()

        with self._count_change(method):
            return await self._authorized(exchange)

    async def wait_for_writes(self) -> None:
        """Wait until no request that changes objects is in progress."""
        await self._unchanging.wait()

    @contextmanager
    def _count_change(self, method: str) -> Iterator[None]:
        changing = int(method != "GET")
        self._changing += changing
        if changing:
            self._unchanging.clear()
        try:
            yield
        finally:
            self._changing -= changing
            if not self._changing:
                self._unchanging.set()

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, opening: float, silence: float, longest: float
    ) -> AsyncIterator[Read]:
        """GET a streamed response (a watch). The block gets a function that reads on: `await read()`.

        It returns the received bytes, in pieces of any size, and none at the end. Entering the block means that the API
        server has accepted the request: more than `opening` seconds until then raise TimedOut, and so do more than
        `silence` seconds without a byte, and a stream of more than `longest` seconds. Leaving the block closes the
        connection.
        """

        async def open_stream(authorization: str | None) -> aiohttp.ClientResponse:
            with translated(self.server):
                async with asyncio.timeout(opening):
                    return await self._send(authorization, "GET", path, {"Accept": JSON}, {"params": params})

        response = await self._authorized(open_stream)
        clock = asyncio.get_running_loop().time
        end = clock() + longest

        async def read() -> bytes:
            until = min(clock() + silence, end)
            with translated(self.server):
                while True:
                    try:
                        async with asyncio.timeout_at(min(clock() + _LOOK, until)):
                            return await response.content.readany()
                    except TimeoutError:
                        if clock() >= until:
                            raise
                        # The library closes the connection after a broken chunk, but does not wake the reader.
                        if response.connection is None or response.connection.transport is None:
                            raise Unreachable(f"{self.server} sent a malformed response") from None

        try:
            yield read
        finally:
            connection = response.connection
            if connection is not None and connection.transport is not None:
                connection.transport.abort()  # closing TLS may take 30 s, and outlive the event loop
            response.close()

    @asynccontextmanager
    async def websocket(
        self, path: str, params: Mapping[str, str], protocol: str, *, opening: float
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket at `path` with this subprotocol within `opening` seconds; leaving the block closes it."""

        async def connect(authorization: str | None) -> aiohttp.ClientWebSocketResponse:
            bearer = {"Authorization": authorization} if authorization else {}
            configuration = self.access.configuration
            session = await self._open_session()
            with translated(self.server):
                try:
                    async with asyncio.timeout(opening):
                        return await session.ws_connect(
                            self.server + path,
                            params=params,
                            protocols=(protocol,),
                            headers={**_HEADERS, **bearer, **tracing.headers()},
                            server_hostname=configuration.tls_server_name or None,
                            proxy=configuration.proxy or None,
                        )
                except aiohttp.WSServerHandshakeError as error:  # it has no body
                    raise api_error(error.status, error.message.encode()) from error

        connection = await self._authorized(connect)
        try:
            yield connection
        finally:
            with translated(self.server):
                await connection.close()

    async def _authorized(self, exchange: Callable[[str | None], Awaitable[Answer]]) -> Answer:
        """Return the result of an exchange with an Authorization header; with renewed credentials after a 401."""
        authorization = await self.access.authorization()
        try:
            return await exchange(authorization)
        except Unauthorized:
            # An expired token may have a successor already, and then no error is reported.
            self.access.refused()
            renewed = await self.access.authorization()
            if renewed == authorization:
                raise
            return await exchange(renewed)

    async def _send(
        self,
        authorization: str | None,
        method: str,
        path: str,
        headers: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> aiohttp.ClientResponse:
        """Send a request with aiohttp's `options`; return the response once its head has arrived."""
        bearer = {"Authorization": authorization} if authorization else {}
        configuration = self.access.configuration
        session = await self._open_session()
        response: aiohttp.ClientResponse = await session.request(
            method,
            self.server + path,
            headers={**_HEADERS, **headers, **bearer, **tracing.headers()},
            allow_redirects=False,  # an API server does not redirect; other servers must not get the token
            server_hostname=configuration.tls_server_name or None,
            proxy=configuration.proxy or None,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT),
            **options,
        )
        if response.status < 300:
            return response
        try:
            raise api_error(response.status, await response.read(), response.headers.get("Retry-After"))
        finally:
            response.release()

    async def _open_session(self) -> aiohttp.ClientSession:
        """Return the connection pool, a new one after a plugin has provided another client certificate."""
        from kubernetes.aio.client.rest import RESTClientObject

        configuration = self.access.configuration
        identity = (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)
        if self._session is None or identity != self._identity:
            outdated, self._identity = self._session, identity
            try:
                # The library reads the certificates. Its own requests encode bodies differently, so it sends none.
                context = RESTClientObject(configuration).ssl_context
            except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
                raise ConfigurationError(f"certificates of {self.origin} cannot be used: {one_line(error)}") from error
            # No limit of connections: each watch holds one, and must not delay other requests.
            connector = aiohttp.TCPConnector(limit=0, ssl=context)
            self._session = aiohttp.ClientSession(connector=connector, trust_env=True, read_bufsize=_READ_BUFFER)
            if outdated is not None:
                await outdated.close()
        return self._session


@contextmanager
def translated(server: str) -> Iterator[None]:
    """Raise errors of the HTTP library inside the block as KubeErrors. The text names `server`."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise Untrusted(f"no trusted TLS connection to {server}: {one_line(error)}") from error
    except TimeoutError as error:
        raise TimedOut(f"{server} did not respond in time") from error
    except aiohttp.ClientConnectorError as error:
        if error.os_error.errno == errno.ECONNREFUSED:
            raise Unreachable(f"{server} refuses connections") from error
        raise Unreachable(f"{server} cannot be reached: {one_line(error.os_error)}") from error
    except (aiohttp.ClientError, OSError) as error:
        said = one_line(error) or type(error).__name__
        raise Unreachable(f"the connection to {server} broke: {said}") from error


def parse(data: bytes) -> Any:
    """Parse the JSON of a response. Raises Garbled."""
    try:
        return decode(data)
    except msgspec.DecodeError as error:
        raise Garbled(f"the API server's response is not JSON: {one_line(error)}") from error


FIELD_MANAGER = "policy-bridge"
_PAGE = "500"  # objects


async def read_object(client: KubeClient, resource: ResourceType, key: Key) -> Object:
    """Return the current object. Raises NotFound, or another KubeError."""
    answer: Object = await client.get(resource.object_path(key.namespace, key.name))
    return answer


async def read_pages(
    client: KubeClient, resource: ResourceType, *, labels: str = "", only_metadata: bool = False
) -> AsyncIterator[list[Object]]:
    """Yield the objects of a type, a page at a time. Raises KubeError."""
    accept = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" if only_metadata else JSON
    params = {"labelSelector": labels, "limit": _PAGE}
    while True:
        page = await client.get(resource.path, params, accept=accept)
        yield page.get("items") or []
        if not (position := (page.get("metadata") or {}).get("continue")):
            return
        params["continue"] = position


async def patch_object(
    client: KubeClient,
    resource: ResourceType,
    key: Key,
    patch: Mapping[str, Any],
    *,
    subresource: Literal["status"] | None = None,
    resource_version: str | None = None,
) -> Object:
    """Change an object and return the result.

    `patch` is a JSON Merge Patch (RFC 7386). With `resource_version` the API server rejects it if the object has
    changed since. A patch without changes keeps the resourceVersion.

    Raises Conflict if the object has changed, NotFound if it was deleted or has no such subresource, Invalid if the API
    server rejects the result, or another KubeError.
    """
    path = resource.object_path(key.namespace, key.name)
    if subresource:
        path = f"{path}/{subresource}"
    if resource_version:
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), "resourceVersion": resource_version}}
    answer: Object = await client.patch(path, patch, params={"fieldManager": FIELD_MANAGER})
    return answer


async def patch_parts(client: KubeClient, path: str, operations: Sequence[Mapping[str, Any]], version: str) -> None:
    """Change the object at a path, if it still has this resourceVersion, by a JSON Patch (RFC 6902).

    Raises Conflict if the object has changed, or another KubeError.
    """
    # Not "test", whose failure is a 422 that looks like a wrong patch: a stale version in the result is a 409.
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
    await client.patch(path, [guard, *operations], JSON_PATCH)


_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class KubeAccess:
    """The library's configuration with its credentials.

    `configuration` is a `kubernetes.aio` Configuration whose `auth_settings()` returns a current token; `origin` names
    its source, and `namespace` the one of its context. `loader` is the library's; `plugin` is the command of the
    credentials, None without one.
    """

    def __init__(
        self, configuration: Any, origin: str, loader: Any, plugin: str | None = None, namespace: str = "default"
    ) -> None:
        self.configuration = configuration
        self.origin = origin
        self.namespace = namespace
        self._loader = loader
        self._plugin = plugin
        self._refused = False
        self._next_look = time.monotonic() + CREDENTIALS
        configuration.refresh_api_key_hook = self._refresh

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, refreshed if that is due; None with only a client certificate.

        Raises ConfigurationError when the token's source has become unusable.
        """
        try:
            async with asyncio.timeout(_LOGIN):
                settings = await self.configuration.auth_settings()
        except TimeoutError as error:
            raise ConfigurationError(f"{self.origin}: no credentials within {_LOGIN:g} s: check its plugin") from error
        except Exception as error:  # the loaders raise any error of their sources (files, plugins, YAML)
            raise ConfigurationError(f"{self.origin} no longer provides credentials: {one_line(error)}") from error
        value = settings.get("BearerToken", {}).get("value")
        return value.strip() if value else None  # token files end with a line break, a header must not

    def refused(self) -> None:
        """Note that the API server rejected the credentials: `authorization` then reads new ones immediately."""
        self._refused = True

    async def _refresh(self, configuration: Any) -> None:
        now = time.monotonic()
        if not self._refused and now < self._next_look:
            return
        self._next_look = now + CREDENTIALS
        refused, self._refused = self._refused, False
        expires = hasattr(self._loader, "exec_plugin_expiry")
        if self._plugin and not refused and not expires:
            return  # credentials without an expiry are valid until the API server rejects them, as in kubectl
        if refused and expires:
            del self._loader.exec_plugin_expiry  # otherwise the loader keeps the rejected token until that time
        loading = self._loader.load_and_set(configuration)
        if loading is not None:  # the library's loader for pods is no coroutine
            await loading


def is_in_pod() -> bool:
    """Return whether this process runs in a Pod with a service account."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and _SERVICE_ACCOUNT_TOKEN.exists()


async def load_access(kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> KubeAccess:
    """Load the given kubeconfig, otherwise $KUBECONFIG, the pod's service account, or ~/.kube/config.

    Raises ConfigurationError, whose text is one line that names the file, if it cannot be used, or disables the
    verification of TLS certificates.
    """
    from kubernetes.aio.client import Configuration  # 0.13 s and 19 MB: only commands with a cluster pay

    configuration: Any = type.__call__(Configuration)  # a new one: calling the class copies its default
    paths = os.fspath(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG", "")
    if not paths and not context and is_in_pod():
        return _load_service_account(configuration)
    return await _load_kubeconfig(configuration, paths or str(Path.home() / ".kube" / "config"), context)


def _load_service_account(configuration: Any) -> KubeAccess:
    from kubernetes.aio.config import incluster_config as library

    files = (library.SERVICE_TOKEN_FILENAME, library.SERVICE_CERT_FILENAME)
    # Its own hook reads the token once a minute, even after the API server has rejected the current one.
    loader = library.InClusterConfigLoader(*files, try_refresh_token=False)
    try:
        loader.load_and_set(configuration)
    except Exception as error:
        raise ConfigurationError(f"the pod's service account cannot be used: {one_line(error)}") from error
    namespace = Path(library.SERVICE_TOKEN_FILENAME).with_name("namespace")
    return KubeAccess(
        configuration,
        "the pod's service account",
        loader,
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


async def _load_kubeconfig(configuration: Any, paths: str, context: str | None) -> KubeAccess:
    from kubernetes.aio.config import load_kube_config

    files = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    present = [path for path in files if path.exists()]
    if not present:
        raise ConfigurationError(f"no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")
    try:
        for path in present:
            read_file(path)  # the library's message for an unreadable file does not name it
        # persist_config writes to the user's kubeconfig, which the bridge must not change
        loader = await load_kube_config(paths, context, client_configuration=configuration, persist_config=False)
        plugin = _find_plugin(paths, loader)
    except OSError as error:
        raise ConfigurationError(f"kubeconfig {error.filename or paths} cannot be read: {error.strerror}") from error
    except Exception as error:  # YAML errors, missing keys, wrong types: the library checks little
        reason = f"unknown context {context}" if context and "/contexts" in str(error) else one_line(error)
        raise ConfigurationError(f"kubeconfig {paths} cannot be used: {reason}") from error
    if not configuration.verify_ssl:
        raise ConfigurationError(f"kubeconfig {paths} has insecure-skip-tls-verify: name certificate-authority instead")
    if plugin and not configuration.api_key and not configuration.cert_file:  # the library only logs the failure
        raise ConfigurationError(f"{plugin}, which kubeconfig {paths} names, provided no credentials: run it manually")
    current = loader.current_context
    namespace = str(current["context"].get("namespace") or "default")
    return KubeAccess(configuration, f"kubeconfig {paths}, context {current['name']}", loader, plugin, namespace)


def _find_plugin(paths: str, loader: Any) -> str | None:
    """Return the credential plugin's command for the user of the loader's context, None without one."""
    from kubernetes.aio.config.kube_config import KubeConfigMerger

    name = loader.current_context["context"].get("user")
    entry = KubeConfigMerger(paths).config["users"].get_with_name(name, safe=True) if name else None
    user = entry.value.get("user") if entry else None
    return str(user["exec"]["command"]) if user and "exec" in user else None
