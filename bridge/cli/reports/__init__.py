"""Analyses in the formats of CI systems: GitHub annotations, Markdown comments, SARIF, JUnit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridge.cli.printers.documents import to_json
from bridge.cli.printers.problems import Position
from bridge.cli.reports.github import workflow_commands
from bridge.cli.reports.junit import junit
from bridge.cli.reports.markdown import comment
from bridge.cli.reports.sarif import sarif_log

if TYPE_CHECKING:
    from bridge.queries.analysis import Analysis

_REPORTS: dict[str, Callable[[Analysis, Position, str], str]] = {
    "github": lambda answer, position, summary: "\n".join(workflow_commands(answer, position, summary)) + "\n",
    "markdown": comment,
    "sarif": lambda answer, position, _: to_json(sarif_log(answer, position)),
    "junit": junit,
}
FORMATS = tuple(_REPORTS)


def print_report(output: str, answer: Analysis, position: Position, summary: str) -> None:
    """Print an analysis in one of FORMATS. `position` returns the file and line of an object, `summary` is one line."""
    sys.stdout.write(_REPORTS[output](answer, position, summary))
