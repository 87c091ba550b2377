"""Errors of a Kubernetes API server.

KubeError
     ├── ConfigurationError       kubeconfig or service account: unreadable, incomplete, or not trustworthy
     ├── Unreachable              no response: refused, reset, unknown host
     │    ├── TimedOut            no response in time
     │    └── Untrusted           the server's or the client's certificate is rejected
     ├── Fenced                   not sent: the Lease that writing needs is not held (anymore)
     ├── Garbled                  a response that is not JSON of the expected form
     └── ApiError                 an error response: `status`, `reason`, `message`
          ├── Unauthorized  401   unknown credentials
          ├── Forbidden     403   known credentials, forbidden by RBAC
          ├── NotFound      404
          ├── Conflict      409   changed since the read, or exists already
          ├── Expired       410   the resourceVersion or the continue token is too old: list again
          ├── Invalid   400/422   the request is wrong
          ├── Throttled     429   `retry_after` seconds
          └── ServerError   5xx

The text of each is one line for people. The library's error, if there was one, is its cause.

`explain_trouble` and its neighbors explain why a type cannot be read, and how to fix it.
"""

from typing import Any

import msgspec

from bridge.model.keys import CORE
from bridge.model.nesting import decode
from bridge.model.types import ResourceType


class KubeError(Exception):
    """Any error of a Kubernetes API server."""


class ConfigurationError(KubeError):
    """The kubeconfig or the pod's service account cannot be used."""


class Unreachable(KubeError):
    """The API server sent no response."""


class TimedOut(Unreachable):
    """The API server sent no response in time."""


class Untrusted(Unreachable):
    """TLS failed: one side does not accept the other's certificate."""


class Fenced(KubeError):
    """The request was not sent, because this process has no right to write."""


class Garbled(KubeError):
    """The API server's response is not JSON of the expected form."""


class ApiError(KubeError):
    """The API server returned an error.

    `status` is the HTTP status, `reason` the Status object's machine-readable reason (may be empty), `message` its
    text, `retry_after` the requested seconds to wait, if any.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


class Unauthorized(ApiError):
    """401: the API server rejects the credentials."""


class Forbidden(ApiError):
    """403: RBAC does not allow it."""


class NotFound(ApiError):
    """404: no such object, or no such type."""


class Conflict(ApiError):
    """409: the object was changed since the read, or it exists already."""


class Expired(ApiError):
    """410: the resourceVersion or continue token is too old; only a new list helps."""


class Invalid(ApiError):
    """400 or 422: the request is wrong, and a retry would fail again."""


class Throttled(ApiError):
    """429: too many requests."""


class ServerError(ApiError):
    """5xx: the API server, or a proxy before it, fails."""


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None
    retry_after: float | None = msgspec.field(name="retryAfterSeconds", default=None)


class _ApiStatus(msgspec.Struct):
    """The relevant fields of a Status object."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: Throttled,
}
_LONGEST = 300  # characters of a server's message that fit on one line


def one_line(text: object) -> str:
    """Return `text` without line breaks, cut to a readable length."""
    line = " ".join(str(text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def api_error(http_status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Return the error for an HTTP error response. `body` need not be a Status object: a proxy may have responded."""
    try:
        status: Any = decode(body)
    except msgspec.DecodeError:
        status = None
    wait = float(retry_after) if retry_after and retry_after.isdecimal() else None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return status_error(status, http_status, wait)
    text = one_line(body.decode("utf-8", "replace")) or "the response is empty"
    return _find_kind(http_status)(http_status, "", text, wait)


def status_error(status: dict[str, Any], http_status: int = 500, retry_after: float | None = None) -> ApiError:
    """Return the error for a Status object (the object of a watch's ERROR event, or an error response's body)."""
    try:
        found = msgspec.convert(status, _ApiStatus)
    except msgspec.ValidationError as error:
        return _find_kind(http_status)(http_status, "", f"its Status cannot be read: {one_line(error)}", retry_after)
    code = found.code or http_status
    details = found.details or _Details()
    causes = {cause.reason for cause in details.causes or ()}
    # A resourceVersion from the future (etcd was restored from a backup) gets a 504, and only a new list helps.
    kind = Expired if "ResourceVersionTooLarge" in causes else _find_kind(code)
    return kind(code, found.reason or "", one_line(found.message or ""), retry_after or details.retry_after)


def _find_kind(status: int) -> type[ApiError]:
    return _BY_STATUS.get(status) or (ServerError if status >= 500 else ApiError)


def explain_access(error: KubeError, origin: str) -> str:
    """Return one line: why no request works. `origin` names the source of the credentials."""
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the credentials of {origin}: renew them"
    return str(error)


def is_starting(error: KubeError) -> bool:
    """Return whether a type is not served yet because its CRD was just created."""
    return isinstance(error, Throttled) and "initializ" in error.message


def explain(error: KubeError, resource: ResourceType, origin: str) -> str:
    """Return one line: why a type cannot be read, and how to fix it. `origin` names the source of the credentials."""
    name = resource.name
    match error:
        case Forbidden():
            # The same text for each type, so that a log has one line for all that are forbidden in the same way.
            group = "" if resource.group == CORE else resource.group
            refusal = error.message.removeprefix(f"{name} is forbidden: ")
            refusal = refusal.replace(f'resource "{resource.plural}" in API group "{group}"', "them")
            return f"reading them is forbidden: grant the bridge get, list and watch on them ({refusal})"
        case Unauthorized():
            return explain_access(error, origin)
        case Untrusted():
            return f"{error}: check certificate-authority and client-certificate of {origin}"
        case Unreachable():
            return f"{error}: check that the API server runs, and its address in {origin}"
        case Throttled() if is_starting(error):
            return f"the API server does not serve it yet ({error.message}): the bridge retries shortly"
        case Throttled():
            return f"the API server limits requests ({error.message}): the bridge retries later"
        case ServerError():
            return f"the API server failed ({error}): check its log and the log of etcd"
        case ConfigurationError():
            return str(error)
        case _:
            return f"reading {name} failed: {error}"
