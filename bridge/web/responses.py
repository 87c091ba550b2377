"""JSON responses, and errors in the form of queries: `{"error": {"code", "message"}}` with a suitable status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from bridge.http.request_guard import Refused
from bridge.model.nesting import MAX_MESSAGE_DEPTH, NestingError, decode
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable, OpaUndefined, QueryError
from bridge.queries.names import AmbiguousNameError, CommandError, NameNotFoundError

_OF_QUERIES = {"TargetNotFound": 404, "UnknownPolicyKind": 404}
_NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
LONGEST_BODY = 30.0  # seconds
_COMPRESSED = 2048  # bytes of a response from which on it is compressed for clients that accept that


def answer(document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a JSON response that must not be cached."""
    body = msgspec.json.encode(document)
    response = web.Response(
        status=status, body=body, content_type="application/json", headers={**_NO_STORE, **(headers or {})}
    )
    if len(body) >= _COMPRESSED:
        response.enable_compression()
    return response


def refusal(error: Exception) -> web.Response | None:
    """Return the response to an error; None for an unexpected one."""
    match error:
        case Refused():
            return _told(error.status, error.code, str(error), error.headers)
        case QueryError():
            return _told(_OF_QUERIES.get(error.code, 400), error.code, str(error))
        case NameNotFoundError():
            return _told(404, "NotFound", str(error))
        case AmbiguousNameError():
            return _told(400, "Ambiguous", str(error))
        case CommandError():
            return _told(400, "InvalidInput", str(error))
        case OpaUnavailable() | OpaUndefined():
            return _told(503, "NotReady", str(error), {"Retry-After": "1"})
        case OpaRejected():
            return _told(502, "Failed", str(error))
        case OpaError():
            return _told(502, "Failed", str(error))
        case RecursionError():
            return _told(502, "Failed", "the answer is nested too deeply")
    return None


def _told(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return answer({"error": {"code": code, "message": message}}, status=status, headers=headers)


async def body_of(request: web.Request, most: int) -> bytes:
    """Return the body of a request, up to a maximum size, within LONGEST_BODY seconds. Raises Refused."""
    content = b""
    try:
        async with asyncio.timeout(LONGEST_BODY):
            async for chunk in request.content.iter_chunked(1 << 16):
                content += chunk
                if len(content) > most:
                    raise Refused(413, "TooLarge", f"the body is larger than {most >> 20} MiB")
    except TimeoutError as error:
        raise Refused(408, "TooSlow", f"the body did not arrive within {LONGEST_BODY:g} s") from error
    except web.RequestPayloadError as error:
        message = "the body is incomplete, or its encoding differs from its headers"
        raise Refused(400, "InvalidInput", message) from error
    return content


def decoded(content: bytes) -> dict[str, Any]:
    """Return a body as a JSON object, empty for none. Raises Refused."""
    try:
        found: Any = decode(content, most=MAX_MESSAGE_DEPTH) if content.strip() else {}
    except NestingError as error:
        raise Refused(400, "InvalidInput", f"the body is too deep: {error}") from error
    except msgspec.DecodeError as error:
        raise Refused(400, "InvalidInput", f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, "InvalidInput", "the body is not a JSON object")
    return found
