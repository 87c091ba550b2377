"""Versions as executables print them, and their order."""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)(?!\.?\d)(?:-([0-9A-Za-z.-]+))?")
_BEFORE_RELEASE = re.compile(r"^(alpha|beta|rc|dev|pre)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Major, minor, patch, and whether it is the release itself (1) or comes before it (0: alpha, beta, rc, dev).

    A vendor's suffix (`1.36.3-gke.1`) counts as the release.
    """

    major: int
    minor: int
    patch: int
    released: int = 1

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.released else " (before release)")


def parse_version(text: str) -> Version | None:
    """The first `[v]X.Y.Z[-suffix]` in a text, for example in what `opa version` prints; None if there is none."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    return Version(int(major), int(minor), int(patch), 0 if suffix and _BEFORE_RELEASE.match(suffix) else 1)
