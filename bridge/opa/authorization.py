"""Whom an OPA answers: the tokens that its authorization policy (rego/system/authz) knows, as a bundle.

OPA holds SHA-256 sums, never tokens. The policy itself is no part of a bundle: OPA has it as a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bridge.opa.bundle import Bundle, build_bundle

ROOT = "system/policy_bridge"
SHORTEST = 16  # characters of a token: a sum of something short can be guessed


class TokenError(ValueError):
    """What is in a file is no token. The text says what is wrong, and never the token."""


def tokens_bundle(bridge: Iterable[str], readers: Iterable[str]) -> Bundle:
    """The bundle that makes OPA accept these tokens: of the bridge, which may do anything, and of readers."""
    roles = dict.fromkeys(map(_sum, readers), "reader") | dict.fromkeys(map(_sum, bridge), "bridge")
    return build_bundle({}, {"system": {"policy_bridge": {"tokens": roles}}}, [ROOT])


def checked_token(text: str, shortest: int = SHORTEST) -> str:
    """A token without the space around it. Raises TokenError for what is none."""
    token = text.strip()
    if len(token) < shortest:
        raise TokenError(f"a token has at least {shortest} characters, and this one has {len(token)}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError("a token is one word of printable ASCII")
    return token


def _sum(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
