"""What can go wrong between the bridge and OPA.

    OpaError
      OpaUnavailable      no answer: refused, broken off
        OpaTimeout        no answer in time: OPA is away, or the query takes too long
      OpaRejected         OPA answered that it will not (status, code, message, errors)
      OpaUndefined        OPA answered that there is no such document or rule
      QueryError          our Rego answered {"error": {code, message}}: the input is at fault
      OpaStartError       the bridge's own OPA did not start
        PortTaken         because somebody else has its port

Where a library's error is behind one of these, it is the `__cause__`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class OpaError(Exception):
    """Anything that goes wrong with OPA."""


class OpaUnavailable(OpaError):
    """OPA gave no answer: the connection was refused or broke off, or the time was up. Trying again can help."""


class OpaTimeout(OpaUnavailable):
    """OPA gave no answer in time. Another query, or a part of this one, may get its answer."""


class OpaRejected(OpaError):
    """OPA answered with an error of its own.

    `status` is the HTTP status, `code` and `message` are OPA's (`invalid_parameter`, …), `errors` are its details, each
    with `code`, `message` and, where Rego is at fault, `location` (file, row, col). `retry_after` are the seconds that
    the server asks to wait, 0 where it does not.
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
        self.details = " ".join((details or message).split())  # one line, for whoever wrote the Rego
        self.status = status
        self.code = code
        self.message = message
        self.errors = tuple(errors)
        self.retry_after = retry_after

    @property
    def in_evaluation(self) -> bool:
        """Whether Rego failed on this very input (two rules contradict each other, …): another one may go well."""
        codes = [str(error.get("code", "")) for error in self.errors]
        return any(code.startswith("eval_") and code != "eval_cancel_error" for code in codes)


class OpaUndefined(OpaError):
    """OPA has no document or rule at `path`, or the rule is undefined for this input."""

    def __init__(self, path: str) -> None:
        super().__init__(f"OPA has nothing at /v1/data/{path}: are the bridge's modules loaded there?")
        self.path = path


class QueryError(OpaError):
    """A query of the bridge's Rego answered with an error: `code` and `message` as the Rego gave them."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class OpaStartError(OpaError):
    """The bridge's own OPA did not start; the text says why, with OPA's last words."""


class PortTaken(OpaStartError):
    """The port that OPA was to listen on belongs to somebody else."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} on 127.0.0.1 is taken: stop what listens there, or name another port for OPA")
        self.port = port


def _one_line(error: Mapping[str, Any]) -> str:
    location = error.get("location")
    where = f"{location.get('file')}:{location.get('row')}: " if isinstance(location, Mapping) else ""
    return f"{where}{error.get('message', error.get('code', ''))}"
