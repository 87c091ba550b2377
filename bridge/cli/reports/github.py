"""Problems as annotations of GitHub's workflows.

Format and escapes: docs.github.com, "Workflow commands for GitHub Actions", "Setting an error message".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.plain import plain
from bridge.cli.printers.problems import Position
from bridge.model.keys import parse_key
from bridge.queries.analysis import is_error
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis


def workflow_commands(answer: Analysis, position: Position, summary: str) -> Iterator[str]:
    """Return an error or warning for each introduced problem, at the position of its object."""
    for problem in answer.introduced:
        key = parse_key(problem["subject"])
        place = position(key)
        where = {"file": place[0], "line": str(place[1])} if place else {}
        properties = {**where, "title": f"{short_key(key)}: {problem['reason']}"}
        told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        level = "error" if is_error(problem) else "warning"
        yield f"::{level} {told}::{_data(problem['message'])}"
    yield f"::notice title=Policy Bridge::{_data(summary)}"


def _data(text: str) -> str:
    lines = [plain(line) for line in text.splitlines()]
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
