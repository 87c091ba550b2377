"""Text for a terminal: names and messages come from objects that any user may have written; colors for people."""

from __future__ import annotations

import os
import re
import sys

from bridge.model.text import plain


def print_error(text: str) -> None:
    """Print a line on standard error."""
    print(plain(text), file=sys.stderr)


_CODES = {"good": "32", "partly": "33", "bad": "31", "dim": "2"}
# The colors of words of outcomes and conditions.
_WORDS = {
    "True": "good",
    "Programmed": "good",
    "PartiallyProgrammed": "partly",
    "partly": "partly",
    "Overridden": "bad",
    "overridden": "bad",
    "NoScope": "partly",
    "False": "bad",
    "Failed": "bad",
    "failed": "bad",
    "error:": "bad",
    "missing": "bad",
    "Observe": "dim",
    "differs": "bad",
    "outdated": "dim",
}
_PATTERN = re.compile(
    r"(?<![\w/.-])(" + "|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))) + r")(?![\w/-])"
)


def use_colors() -> bool:
    """Return whether standard output shows colors."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str) -> str:
    """Return the text with the words of outcomes in color."""
    return _PATTERN.sub(lambda match: f"\x1b[{_CODES[_WORDS[match[1]]]}m{match[1]}\x1b[0m", text)


def emphasize(text: str) -> str:
    """Return the text formatted as a title."""
    return f"\x1b[1m{text}\x1b[0m"
