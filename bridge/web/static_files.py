"""The page: files next to this module, and the headers that isolate it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from aiohttp import web

from bridge.http.request_guard import Refused

_ROOT = Path(__file__).resolve().parent / "static"
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
}
# No content from other hosts, no inline content, no frames, no forms to other sites.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Always revalidated, with 304 if unchanged: a page and its script have the same version.
    "Cache-Control": "no-cache",
}


async def get(request: web.Request) -> web.Response:
    """Return one file; `/` is index.html. Raises Refused if it does not exist."""
    name = request.match_info.get("name") or "index.html"
    if name not in _names():
        raise Refused(404, "NotFound", f"there is no {request.path}")
    path = _ROOT / name
    content = path.read_bytes()
    etag = f'"{_digest(content)}"'
    if request.headers.get("If-None-Match") == etag:
        return web.Response(status=304, headers={**_HEADERS, "ETag": etag})
    response = web.Response(body=content, headers={**_HEADERS, "ETag": etag}, content_type=_TYPES[path.suffix])
    if path.suffix not in {".png", ".woff2"}:
        response.charset = "utf-8"
        response.enable_compression()
    return response


@cache
def _names() -> frozenset[str]:
    """Return the served files. No path is made from a client's name."""
    return frozenset(str(path.relative_to(_ROOT)) for path in _ROOT.rglob("*") if path.suffix in _TYPES)


@cache
def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
