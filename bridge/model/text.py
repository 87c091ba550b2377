"""Text that any user may have written, for a terminal and for logs."""

from __future__ import annotations

TIE = "\u00a0"  # a space at which no line is broken; tables print it as an ordinary one


def plain(text: str) -> str:
    """Return the text on one line, without control and formatting characters."""
    if text.isprintable():
        return text
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character.isprintable() or character == TIE:
        return character
    return " " if character.isspace() else "\ufffd"
