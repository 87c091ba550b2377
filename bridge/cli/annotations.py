"""Problems as annotations of files on GitHub: docs.github.com, "Workflow commands for GitHub Actions"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bridge.cli.notation import Entry, Place, Position
from bridge.model.keys import parse_key
from bridge.model.text import plain
from bridge.queries.names import first_of, short_key

_NAMED = 3  # causes that a message lists


def place_of(problem: Entry, position: Position) -> Place:
    """Return the file and line to change: of the first changed object that causes the problem, else of its object.

    A problem of a field has the field's line.
    """
    places = (position(parse_key(key)) for key in (*problem.get("causes", ()), problem["subject"]))
    place = next((place for place in places if place), None)
    return (place[0], problem.get("line", place[1])) if place else None


def causes_text(problem: Entry) -> str:
    """Return the names of the changed objects that cause a problem of another one."""
    return first_of([short_key(parse_key(key)) for key in problem.get("causes", ())], _NAMED)


def message_of(problem: Mapping[str, Any]) -> str:
    """Return the message of a problem, with the changes that cause it."""
    causes = causes_text(problem)
    return f"{problem['message']} (because of {causes})" if causes else str(problem["message"])


def annotate(problems: Iterable[Mapping[str, Any]], position: Position) -> Iterator[str]:
    """Yield the line for each problem of the query `problems`, at the position of the object to change."""
    from bridge.queries.analysis import is_error

    for problem in problems:
        at = place_of(problem, position)
        where = {"file": at[0], "line": str(at[1])} if at else {}
        title = f"{short_key(parse_key(problem['subject']))}: {problem['reason']}"
        level = "error" if is_error(problem) else "warning"
        yield workflow_command(level, message_of(problem), **where, title=title)


def workflow_command(level: str, message: str, **properties: str) -> str:
    """Return the line that makes GitHub show a message, with the properties `file`, `line` and `title`."""
    text = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {text}::{_data(message)}"


def _data(text: str) -> str:
    lines = [plain(line) for line in text.splitlines()]
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
