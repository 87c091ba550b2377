"""Bounds on the depth and width of JSON from hostile authors, and decoding that reports too deep JSON.

A decoder recurses for each level, and Python ends it with a RecursionError: at about 950 levels in Python 3.11, at
9,900 in 3.13. An API server stores up to 10,000. Nothing here recurses.
"""

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

MAX_DEPTH = 200  # levels of mappings and lists in one Kubernetes object; the object itself is the first
MAX_MESSAGE_DEPTH = MAX_DEPTH + 20  # in messages with objects: a list, an AdmissionReview, the input of a query
MAX_VALUES = 50_000  # fields and items in one Kubernetes object: each takes 500 to 1,000 bytes of OPA

Decoded = TypeVar("Decoded")
_ANY = msgspec.json.Decoder(Any)
_STEPS = bytearray(256)  # as signed bytes: one level down, one level up, and no step for all other characters
_STEPS[ord("[")] = _STEPS[ord("{")] = 1
_STEPS[ord("]")] = _STEPS[ord("}")] = 0xFF
_SEPARATORS = b"[{,"  # as many as fields and items, except for empty mappings and lists
_PLAIN = bytes(sign for sign in range(256) if sign not in b'"[]{},')
_NO_MARKS = bytes(sign for sign in range(256) if not _STEPS[sign] and sign != ord('"'))
_ROUNDS = 4
_LEVELS = 2 * _ROUNDS  # the maximum that a round removes: `[]` within `{}` needs the same round
_DEEP = re.compile(rb"\x01+")


class NestingError(msgspec.DecodeError):
    """JSON that is nested too deeply: more than `most` levels."""

    def __init__(self, most: int = MAX_DEPTH) -> None:
        super().__init__(f"it is nested more than {most} levels deep")


def exceeds(text: bytes, most: int) -> bool:
    """Return whether JSON text is nested more than `most` levels deep. Cheap for a text with few brackets."""
    opened = text.count(b"[") + text.count(b"{")
    # Between items of a list, a level ends before the next begins. Within a text both counts cancel.
    if opened <= most or opened - text.count(b"},{") - text.count(b"],[") <= most:
        return False
    brackets = _outside_texts(text, _NO_MARKS)
    # Wide values without depth vanish in a few cheap rounds, each of which removes one level of every branch.
    left = brackets
    for _ in range(_ROUNDS):
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    if _depth(left) <= most - _LEVELS:
        return False
    return _depth(brackets) > most


def is_too_deep(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Return whether a Kubernetes object, its fields as JSON text, is nested more than MAX_DEPTH levels deep.

    Its metadata is ignored: managedFields nest deeper than the object, and are dropped.
    """
    return any(exceeds(bytes(value), MAX_DEPTH - 1) for name, value in fields.items() if name != "metadata")


def _outside_texts(text: bytes, ignored: bytes) -> bytes:
    """Return JSON text without its strings, their quotes and the `ignored` characters."""
    # Two quotes without a character between them change nothing, and each part of a split takes memory.
    kept = _without_escapes(text).translate(None, ignored).replace(b'""', b"")
    return b"".join(kept.split(b'"')[::2])


def _depth(brackets: bytes) -> int:
    return max(accumulate(memoryview(brackets.translate(_STEPS)).cast("b")), default=0)


def has_more_values(text: bytes, most: int) -> bool:
    """Return whether JSON text has more than this number of fields and items. Cheap for a text with few commas."""
    if _separators(text) <= most:  # including those within strings
        return False
    return _separators(_outside_texts(text, _PLAIN)) > most


def _separators(text: bytes) -> int:
    return sum(text.count(sign) for sign in _SEPARATORS)


def cut(text: bytes, most: int) -> bytes:
    """Return JSON text with null instead of each value that is nested more than `most` levels deep."""
    parts = _without_escapes(text).split(b'"')
    parts[1::2] = [bytes(len(part)) for part in parts[1::2]]
    steps = memoryview(b'"'.join(parts).translate(_STEPS)).cast("b")
    deep = bytes(map(most.__lt__, accumulate(steps)))
    kept: list[bytes] = []
    start = 0
    for value in _DEEP.finditer(deep):
        kept += [text[start : value.start()], b"null"]
        start = value.end() + 1  # behind the bracket that ends it
    kept.append(text[start:])
    return b"".join(kept)


def _without_escapes(text: bytes) -> bytes:
    """Return the text with blanks for escaped backslashes and quotes: each remaining quote begins or ends a string."""
    return text.replace(b"\\\\", b"  ").replace(b'\\"', b"  ") if b"\\" in text else text


def decode(
    text: bytes | str | msgspec.Raw,
    decoder: msgspec.json.Decoder[Decoded] = _ANY,  # type: ignore[assignment] # Decoded is Any without one
    most: int | None = None,
) -> Decoded:
    """Decode JSON of at most this number of levels; by default as many as Python decodes.

    Raises msgspec.DecodeError for everything that it cannot decode, NestingError if that is too deep.
    """
    if most is not None and exceeds(text.encode() if isinstance(text, str) else bytes(text), most):
        raise NestingError(most)
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise NestingError from error
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it contains a text that is not UTF-8: {error.reason}") from error


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a part of an object that must be a mapping; empty for anything else, which a user may have written."""
    return value if isinstance(value, Mapping) else {}


def parse_field(value: Any) -> Any:
    """Return a field of an object, parsed if it is still JSON text; None if that cannot be decoded."""
    try:
        return decode(value) if isinstance(value, msgspec.Raw) else value
    except msgspec.DecodeError:
        return None
