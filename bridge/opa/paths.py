"""Paths of documents in OPA: JSON Pointers (RFC 6901), because the bridge's keys contain slashes."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote


def pointer(*segments: str) -> str:
    """Return the JSON Pointer of a document under `data`, as in JSON Patch: `pointer("x", "a/b")` is `/x/a~1b`."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


def segments_of(path: str) -> list[str]:
    """Return the segments of a JSON Pointer; its leading slash is optional, and `` is the whole of `data`."""
    stripped = path.removeprefix("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in stripped.split("/")] if stripped else []


@lru_cache(maxsize=256)  # most are used repeatedly
def url_path(path: str) -> str:
    """Return the path of the same document in OPA's data API, without a leading slash: segments are percent-encoded."""
    return "/".join(quote(segment, safe="") for segment in segments_of(path))
