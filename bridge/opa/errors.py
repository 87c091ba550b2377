"""Errors between the bridge and OPA; and the durations and failures of requests, by request.

OpaError
      OpaUnavailable      no response: refused, interrupted
        OpaTimeout        no response in time: OPA is unavailable, or the query takes too long
      OpaRejected         OPA returned an error (status, code, message, errors)
      OpaUndefined        OPA has no such document or rule
      QueryError          the bridge's Rego returned {"error": {code, message}}: the input is invalid
      OpaStartError       the bridge's own OPA did not start
        PortTaken         because its port is in use

A library's error behind one of these is its `__cause__`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bridge.model.observability import Histogram


class OpaError(Exception):
    """Any error of OPA."""

    @property
    def details(self) -> str:
        """Return the cause in one line, for the author of the Rego."""
        return str(self)


class OpaUnavailable(OpaError):
    """OPA sent no response: the connection was refused or interrupted, or timed out. A retry can help."""


class OpaTimeout(OpaUnavailable):
    """OPA sent no response in time. Another query, or a part of this one, may succeed."""


class OpaRejected(OpaError):
    """OPA returned an error of its own.

    `status` is the HTTP status, `code` and `message` are OPA's (`invalid_parameter`, …), `errors` are its details, each
    with `code`, `message` and, for errors of Rego, `location` (file, row, col). `retry_after` are the requested seconds
    to wait, 0 if there are none.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after: float = 0.0,
    ) -> None:
        details = "; ".join(_one_line(error) for error in errors)
        super().__init__(f"OPA answered {status} {code}: {message}" + (f": {details}" if details else ""))
        self._details = " ".join((details or message).split())
        self.status = status
        self.code = code
        self.message = message
        self.errors = tuple(errors)
        self.retry_after = retry_after

    @property
    def details(self) -> str:
        """Return OPA's details in one line, or its message without any."""
        return self._details

    @property
    def in_evaluation(self) -> bool:
        """Return whether Rego failed for this input (two rules contradict each other, …): another input may succeed."""
        codes = [str(error.get("code", "")) for error in self.errors]
        return any(code.startswith("eval_") and code != "eval_cancel_error" for code in codes)


class OpaUndefined(OpaError):
    """OPA has no document or rule at `path`, or the rule is undefined for this input."""

    def __init__(self, path: str) -> None:
        super().__init__(f"OPA has nothing at /v1/data/{path}: check that the bridge's modules are loaded")
        self.path = path


class QueryError(OpaError):
    """A query of the bridge's Rego returned an error: `code` and `message` from the Rego."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class OpaStartError(OpaError):
    """The bridge's own OPA did not start; the text has the cause, with OPA's last output."""


class PortTaken(OpaStartError):
    """Another process uses OPA's port."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} on 127.0.0.1 is in use: stop its process, or choose another port for OPA")
        self.port = port


def _one_line(error: Mapping[str, Any]) -> str:
    location = error.get("location")
    where = f"{location.get('file')}:{location.get('row')}: " if isinstance(location, Mapping) else ""
    return f"{where}{error.get('message', error.get('code', ''))}"


MOST_FAILING = 1_000  # further ones are logged only


class Failing:
    """Why queries fail on single items, by query and name of the item. `changed` is called after a change."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.errors: dict[tuple[str, str], OpaError] = {}
        self._changed = changed

    def add(self, query: str, name: str, error: OpaError) -> None:
        """Note that a query fails on an item."""
        if len(self.errors) < MOST_FAILING:
            self.errors[query, name] = error
            self._changed()

    def drop(self, query: str, names: Iterable[str]) -> None:
        """Note that a query succeeds on items, or that they are removed."""
        found = [self.errors.pop((query, name), None) for name in names] if self.errors else []
        if any(found):
            self._changed()


MOST_NAMES = 64  # further names count as OTHER: unknown clients' requests make no new series
OTHER = "other"
FAILURES = ("rejected", "unavailable", "abandoned")  # error response; no response; cancelled by the client
_QUERIES = "/v1/data/bridge/v1/"
_STATES = ("/health", "/v1/status", "/v1/config")


class Requests:
    """Requests to OPA. `seconds` by query, `errors` by query and failure: one of FAILURES."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.errors: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def measured(self, method: str, path: str) -> Iterator[None]:
        """Count the request that the block sends."""
        began = time.perf_counter()
        failure = ""
        try:
            yield
        except OpaRejected:
            failure = "rejected"
            raise
        except OpaUnavailable:
            failure = "unavailable"
            raise
        except asyncio.CancelledError:
            failure = "abandoned"
            raise
        finally:
            name = request_name(method, path)
            if name not in self.seconds and len(self.seconds) >= MOST_NAMES:
                name = OTHER
            self.seconds[name].observe(time.perf_counter() - began)
            if failure:
                self.errors[name, failure] += 1


def request_name(method: str, path: str) -> str:
    """Return the name of a request: a query's name, or `write`, `document`, `decision`, `adhoc`, `state`."""
    if path.startswith(_QUERIES):
        return path[len(_QUERIES) :].partition("?")[0]
    if method in {"PATCH", "PUT"}:
        return "write"
    if path == "/v1/query":
        return "adhoc"
    if path.startswith(_STATES):
        return "state"
    return "document" if method == "GET" else "decision"
