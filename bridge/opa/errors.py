"""Errors between the bridge and OPA.

OpaError
      OpaUnavailable      no response: refused, interrupted
        OpaDisconnected   the connection ended before the response
        OpaTimeout        no response in time: OPA is unavailable, or the query takes too long
        OpaIncomplete     OPA lacks objects: it was emptied, or its first sync is not complete
      OpaRejected         OPA returned an error (status, code, message, errors)
      OpaUndefined        OPA has no such document or rule
      QueryError          the bridge's Rego returned {"error": {code, message}}: the input is invalid
      OpaStartError       the bridge's own OPA did not start
        PortTaken         because its port is in use

A library's error behind one of these is its `__cause__`.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class OpaError(Exception):
    """Any error of OPA."""

    @property
    def details(self) -> str:
        """Return the cause in one line, for the author of the Rego."""
        return str(self)


class OpaUnavailable(OpaError):
    """OPA sent no response, or cannot know the answer yet. A retry can help."""


class OpaDisconnected(OpaUnavailable):
    """The connection ended before the response: OPA had closed it, or has ended. A new one may succeed at once."""


class OpaTimeout(OpaUnavailable):
    """OPA sent no response in time. Another query, or a part of this one, may succeed."""


class OpaIncomplete(OpaUnavailable):
    """OPA lacks objects, so its answer would be that of an empty cluster; it has them when the bridge has synced it."""


class OpaRejected(OpaError):
    """OPA returned an error of its own.

    `status` is the HTTP status, `code` and `message` are OPA's (`invalid_parameter`, …), `errors` are its details, each
    with `code`, `message` and, for errors of Rego, `location` (file, row, col). `retry_after` are the requested seconds
    to wait, 0 if there are none.
    """

    def __init__(
        self, status: int, code: str, message: str, errors: Sequence[Mapping[str, Any]] = (), retry_after: float = 0.0
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
        super().__init__(f"OPA has no document at /v1/data/{path}: check that the bridge's modules are loaded")
        self.path = path


class QueryError(OpaError):
    """A query of the bridge's Rego returned an error: `code` and `message` from the Rego."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def query_error(code: object, message: object) -> QueryError | OpaIncomplete:
    """Return the error for one that a query of the bridge's Rego returned."""
    return OpaIncomplete(str(message)) if code == "NotReady" else QueryError(str(code), str(message))


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
