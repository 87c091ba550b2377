"""Texts for a terminal: names and messages come from objects that any user may have written."""

from __future__ import annotations

import sys

TIE = "\u00a0"  # a space at which no line is broken; tables print it as an ordinary one


def plain(text: str) -> str:
    """Return the text on one line, without control and formatting characters."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def tell(text: str) -> None:
    """Print a line on standard error."""
    print(plain(text), file=sys.stderr)


def _shown(character: str) -> str:
    if character.isprintable() or character == TIE:
        return character
    return " " if character.isspace() else "\ufffd"
