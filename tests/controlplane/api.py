"""Plain requests to the API server, independent of the code under test."""

from __future__ import annotations

import http.client
import itertools
import json
import ssl
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.eventually import eventually_blocking

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


@dataclass(frozen=True, slots=True)
class ApiServer:
    """One user's access to an API server."""

    url: str
    token: str
    context: ssl.SSLContext

    def get(self, path: str) -> Any:
        """Return the object or list at a path; text if it is not JSON, or nested too deeply."""
        return self.request("GET", path)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Send an object, or text or bytes as they are. Raises ApiError, and OSError without a complete answer."""
        data = body if isinstance(body, bytes) or body is None else _encode(body)
        request = urllib.request.Request(self.url + path, data=data, method=method)  # noqa: S310 (always https)
        request.add_header("Authorization", f"Bearer {self.token}")
        if data is not None:
            request.add_header("Content-Type", content_type)
        try:
            status, text = self._answer(request)
        except http.client.HTTPException as error:
            raise ConnectionError(f"the API server went in the middle of its answer: {error!r}") from error
        said = _decode(text)
        if status >= _BAD:
            message = said.get("message", "") if isinstance(said, dict) else str(said)
            raise ApiError(status, message)
        return said

    def _answer(self, request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE, context=self.context) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def apply(self, path: str, body: Any) -> Any:
        """Server-side apply of one object (a dict, or YAML text) at its path."""
        return self.request("PATCH", f"{path}?fieldManager=tests&force=true", body, _APPLY)

    def apply_crds(self, folder: Path) -> None:
        """Apply a folder of Gateway API's CRDs, `<group>_<plural>.yaml` each, and wait until they are served."""
        files = {_crd_name(file): file.read_bytes() for file in sorted(folder.glob("*.yaml"))}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: self.apply(f"{_CRDS}/{name}", files[name]), files))
        self.wait_for_crds(set(files))

    def wait_for_crds(self, names: set[str], patience: float = _PATIENCE_WITH_CRDS) -> None:
        """Wait until CRDs are established and listed by discovery. Raises TimeoutError, with those that are not."""
        deadline = time.monotonic() + patience
        while missing := {name for name in names if not self._is_served(name)}:
            if time.monotonic() > deadline:
                raise TimeoutError(f"CRDs not served after {patience:.0f} s: {sorted(missing)}")
            time.sleep(0.1)

    def delete_crds(self, names: set[str]) -> None:
        """Delete CRDs, those that are missing too, and wait until they are gone. Raises AssertionError with the rest.

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

    def _is_served(self, name: str) -> bool:
        plural, _, group = name.partition(".")
        try:
            crd = self.get(f"{_CRDS}/{name}")
            if not any(c["type"] == "Established" and c["status"] == "True" for c in _conditions(crd)):
                return False
            version = next(v["name"] for v in crd["spec"]["versions"] if v["served"])
            self.get(f"/apis/{group}/{version}/{plural}?limit=1")
        except ApiError as error:
            if error.status in {404, 503}:
                return False
            raise
        return True


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
