"""Text that any user may have written, for a terminal and for logs; the name that a misspelled one may mean."""

import difflib
from collections.abc import Iterable

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


def nearest(name: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the name that is most like a misspelled one, whatever the case of letters; None if none is.

    `likeness` is the least one, from 0 to 1.
    """
    candidates: dict[str, str] = {}
    for each in names:
        candidates.setdefault(each.casefold(), each)
    found = difflib.get_close_matches(name.casefold(), list(candidates), n=1, cutoff=likeness)
    return candidates[found[0]] if found else None
