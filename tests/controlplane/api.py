"""Plain requests to the API server, independent of the code under test."""

from __future__ import annotations

import http.client
import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http import HTTPStatus
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

from tests.eventually import eventually_blocking

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_PATIENCE = 180.0  # seconds for an answer
_PATIENCE_WITH_CRDS = 600.0  # seconds until CRDs are served, or gone
_BAD = 400  # from here on a status says no


class ApiError(Exception):
    """The API server returned an error; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ApiServer:
    """One user's access to an API server, each request on a connection of its own."""

    def __init__(self, url: str, token: str, context: ssl.SSLContext) -> None:
        self.url = url
        self.token = token
        self.context = context

    def get(self, path: str) -> Any:
        """Return the object or list at a path; text if it is not JSON, or nested too deeply."""
        return self.request("GET", path)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Send an object, or text or bytes as they are. Raises ApiError, and OSError without a complete answer."""
        data = body if isinstance(body, bytes) or body is None else _encode(body)
        headers = {"Authorization": f"Bearer {self.token}"} | ({} if data is None else {"Content-Type": content_type})
        try:
            status, text = _insisting(method, lambda: self._answer(method, path, data, headers))
        except http.client.HTTPException as error:
            raise ConnectionError(f"the API server went in the middle of its answer: {error!r}") from error
        return _checked(status, text)

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.url.removeprefix("https://"), timeout=_PATIENCE, context=self.context)

    def _answer(self, *request: Any) -> tuple[int, bytes]:
        with closing(self._connect()) as connection:
            return _exchange(connection, *request)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Requests of several threads at once, on connections that stay open."""
        session = Session(self)
        try:
            yield session
        finally:
            session.close()

    def apply(self, path: str, body: Any) -> Any:
        """Server-side apply of one object (a dict, or YAML text) at its path."""
        return self.request("PATCH", f"{path}?fieldManager=tests&force=true", body, _APPLY)

    def merge(self, path: str, fields: Any) -> Any:
        """Merge these fields into the object at a path."""
        return self.request("PATCH", path, fields, _MERGE)

    def apply_crds(self, folder: Path) -> None:
        """Apply a folder of Gateway API's CRDs, `<group>_<plural>.yaml` each, and wait until they are served."""
        files = {_crd_name(file): file.read_text() for file in sorted(folder.glob("*.yaml"))}
        with self.session() as session:
            session.map(lambda one, name: one.apply(f"{_CRDS}/{name}", files[name]), files)
        self.wait_for_crds(set(files))

    def wait_for_crds(self, names: set[str], patience: float = _PATIENCE_WITH_CRDS) -> None:
        """Wait until CRDs are established and listed by discovery. Raises TimeoutError, with those that are not."""
        deadline = time.monotonic() + patience
        with self.session() as session:
            missing = sorted(names)
            while missing := list(compress(missing, session.map(_is_missing, missing))):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"CRDs not served after {patience:.0f} s: {missing}")
                time.sleep(0.1)

    def delete_crds(self, names: set[str]) -> None:
        """Delete CRDs, ignore those that are missing, and wait until none is left. Raises AssertionError with the rest.

        The API server's finalizer backs off exponentially on a loaded machine: a change of the CRD makes it look again.
        """
        for name in names:
            self._unless_gone("DELETE", name)
        looks = itertools.count(1)

        def left() -> list[str]:
            look = str(next(looks))
            patch = {"metadata": {"annotations": {"tests.example.com/look": look}}}
            return [name for name in sorted(names) if self._unless_gone("PATCH", name, patch)]

        eventually_blocking(left, lambda found: not found, patience=_PATIENCE_WITH_CRDS, pause=0.5)

    def _unless_gone(self, method: str, name: str, patch: Any = None) -> bool:
        """Send a request about a CRD and return whether the CRD exists."""
        try:
            self.request(method, f"{_CRDS}/{name}", patch, _MERGE if patch else "application/json")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            if error.status != HTTPStatus.CONFLICT and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
        return True


class Session(ApiServer):
    """Access of up to 8 threads, each of which keeps its connection open."""

    def __init__(self, api: ApiServer) -> None:
        super().__init__(api.url, api.token, api.context)
        self._pool = ThreadPoolExecutor(8)
        self._of_thread = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []

    def map(self, do: Callable[[Session, _Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Return what a function that gets the session and an item returns of each, called by several threads."""
        return list(self._pool.map(lambda item: do(self, item), items))

    def _answer(self, *request: Any) -> tuple[int, bytes]:
        """Send a request, twice if there is no answer: the server closes connections that were idle for long."""
        if not hasattr(self._of_thread, "connection"):
            self._of_thread.connection = self._connect()
            self._connections.append(self._of_thread.connection)
        connection: http.client.HTTPSConnection = self._of_thread.connection
        try:
            return _exchange(connection, *request)
        except (ConnectionError, http.client.HTTPException):
            connection.close()
            return _exchange(connection, *request)

    def close(self) -> None:
        """Close the connections."""
        self._pool.shutdown()
        for connection in self._connections:
            connection.close()


def _exchange(connection: http.client.HTTPSConnection, *request: Any) -> tuple[int, bytes]:
    connection.request(*request)
    answer = connection.getresponse()
    return answer.status, answer.read()


def _insisting(method: str, ask: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    """Repeat a request on which the API server gives up: it does so after a minute, which a loaded machine can need.

    A POST is sent once, because it may have made its object.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        status, text = ask()
        if status != HTTPStatus.GATEWAY_TIMEOUT or method == "POST" or time.monotonic() > deadline:
            return status, text


def _is_missing(session: Session, name: str) -> bool:
    plural, _, group = name.partition(".")
    try:
        crd = session.get(f"{_CRDS}/{name}")
        if not any(c["type"] == "Established" and c["status"] == "True" for c in _conditions(crd)):
            return True
        version = next(v["name"] for v in crd["spec"]["versions"] if v["served"])
        session.get(f"/apis/{group}/{version}/{plural}?limit=1")
    except ApiError as error:
        if error.status in {404, 503}:
            return True
        raise
    return False


def _checked(status: int, text: bytes) -> Any:
    said = _decode(text)
    if status >= _BAD:
        message = said.get("message", "") if isinstance(said, dict) else str(said)
        raise ApiError(status, message)
    return said


def _conditions(thing: dict[str, Any]) -> list[dict[str, Any]]:
    return list(thing.get("status", {}).get("conditions") or [])


def _crd_name(file: Path) -> str:
    group, _, plural = file.stem.partition("_")
    return f"{plural}.{group}"


def _encode(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _decode(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace")
